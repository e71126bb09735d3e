// What the struct tasks of all targets have in common: what they state of the list, and the code
// that reads an element of it.
#ifndef KILN_SERVER_COMPILER_CODEGEN_STRUCT_ELEMENT_H_
#define KILN_SERVER_COMPILER_CODEGEN_STRUCT_ELEMENT_H_

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/struct_plan.h"

namespace kiln {

// States the list that the task runs over.
void StateList(const StructPlan& plan, proto::Task* task);
// Tells the walk what the task's body does to trees.
void SetTreeEffects(ir::RangeTaskOp op, const StructPlan& plan, FunctionEmitter* f);

// What a target's emitter of struct tasks derives from: the present element of the list, and the
// indices that follow from it.
class StructElement {
 protected:
  // The arguments outlive the object.
  StructElement(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan)
      : f_(f), b_(f.builder()), task_(task), plan_(plan), at_(abi::kMaxAxes) {}

  // A field of a KilnElement, or of a list's own data. Lists do not change while a task runs, so
  // LLVM may load it anywhere.
  llvm::Value* Field(llvm::Value* element, int64_t offset, llvm::Type* type);
  // Makes `element` the present one: sets cell_, at_ and leaves_.
  void ReadPlace(llvm::Value* element);
  // Splits the innermost digit, of `extent` values, off the number `rest`, and returns it. The
  // outermost digit is all that remains.
  Affine TakeDigit(Affine* rest, int64_t extent, bool is_outermost);
  // The index of the first cell of the block below the present element's cell.
  TreeWalker::Coordinates Origin() const;
  // States the indices of the task's body for the walk, and in MapIndices also their values.
  void DefineIndices(const TreeWalker::Coordinates& index);
  void MapIndices(const TreeWalker::Coordinates& index);
  // The index of a container's cell along each axis, from its number. Requires: the present element
  // is a slice.
  TreeWalker::Coordinates Digits(llvm::Value* cell);
  // The cell's number among all that the field may have, active or not, in row-major order.
  llvm::Value* Number(const TreeWalker::Coordinates& index);

  ir::SNodeAttr Node() const { return plan_.tree.getNode(plan_.node); }
  // Cell `number` of the container, or of the chunk.
  llvm::Value* Cell(llvm::Value* number) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), cell_,
                                b_.CreateNSWMul(number, b_.getInt64(Node().getCellBytes())));
  }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  const StructPlan& plan_;
  // Of the present element:
  llvm::Value* cell_ = nullptr;  // its cell; of a slice the container, or the chunk's first cell
  TreeWalker::Coordinates at_;   // the index of the cell, or of the container's cell 0
  llvm::SmallVector<llvm::Value*, 4> leaves_;  // that at_ is made of
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_STRUCT_ELEMENT_H_
