// The code of one struct task. Private to this folder.
//
// The words: An *element* of the list leads to a *block* of cells: the dense levels below one
// active cell (lists of cells), or part of a container (lists of slices). A *row* is the innermost
// loop over a block, along one axis. The *prologue* is the code between reading an element and the
// loops over its block: what depends on the element alone is looked up there, once.
//
// Reads at constant distances from the loop's index (stencils) leave the block near its ends. So
// the loops' ends have code of their own (Peel). In the middle, all that the body reads is in the
// block, where an address is the block's plus a multiple of the index. LLVM vectorises such rows.
// In short rows the ends would be most cells; there one loop goes from end to end, and the values
// past its ends are selected (TreeWalker::OpenRow).
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_STRUCT_EMITTER_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_STRUCT_EMITTER_H_

#include <utility>

#include "server/compiler/codegen/struct_element.h"

namespace kiln::cpu {

// Code that is emitted several times may be this many ops long, all copies together.
inline constexpr int64_t kMostCopiedOps = 400;

// The task's accumulators, which its loops carry from iteration to iteration.
using Accumulators = llvm::SmallVector<llvm::Value*, 4>;

// Emits the iterations [begin, end) of a struct task, which are pieces of the list's elements.
class StructEmitter : private StructElement {
 public:
  StructEmitter(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan)
      : StructElement(f, task, plan), up_(abi::kMaxAxes) {
    if (plan.slices && Node().getFacts().has_mask) {
      for (int a = 0; a < Node().getNumAxes(); ++a) {
        reach_.push_back(Reach(task, f.trees(), plan, Node().getAxis(a)));
      }
      in_row_ = Node().getExtent(Node().getNumAxes() - 1) % 32 == 0;
    }
    Peel();
  }

  void Emit(llvm::Value* begin, llvm::Value* end, llvm::Value* piece);

 private:
  using Body = llvm::function_ref<Accumulators(llvm::Value*, Accumulators)>;

  // Loops, and one iteration of the body. struct_task.cc.
  void Peel();
  void FindAcross(int64_t axis);
  bool OpenRow(const StructPlan::Dimension& d);
  Accumulators Loop(llvm::Value* from, llvm::Value* to, const Accumulators& start, Body body);
  Accumulators If(llvm::Value* condition, const Accumulators& start,
                  llvm::function_ref<Accumulators()> then);
  Accumulators Either(llvm::Value* condition, llvm::function_ref<Accumulators()> yes,
                      llvm::function_ref<Accumulators()> no);
  Accumulators Iteration(const TreeWalker::Coordinates& index, llvm::Value* own,
                         const Accumulators& start);

  // Elements, and loops over the cells of a block. struct_task.cc.
  Accumulators Element(llvm::Value* number, llvm::Value* from, llvm::Value* to,
                       const Accumulators& start);
  Accumulators Cells(llvm::Value* from, llvm::Value* to, const Accumulators& start);
  Accumulators Nest(size_t dimension, const Accumulators& start);
  Accumulators NestedIteration(const Accumulators& start);

  // Loops over the active cells of a slice, by the kind of the node. struct_slices.cc.
  Accumulators Slice(llvm::Value* begin, llvm::Value* end, const Accumulators& start);
  Accumulators Slots(llvm::Value* begin, llvm::Value* end, const Accumulators& start);
  Accumulators Words(llvm::Value* begin, llvm::Value* end, const Accumulators& start);
  Accumulators Bits(llvm::Value* word, llvm::Value* first, const Accumulators& start);
  Accumulators FullWord(llvm::Value* first, int64_t count, const Accumulators& start);
  Accumulators PartlyActive(llvm::Value* begin, llvm::Value* end, const Accumulators& start);
  llvm::Value* IsInside(llvm::Value* first);
  llvm::Value* AllActive(llvm::Value* begin, llvm::Value* end);
  llvm::Value* MaskWord(llvm::Value* number);
  Accumulators Chunk(llvm::Value* begin, llvm::Value* end, const Accumulators& start);

  mlir::TypeRange AccumulatorTypes() {
    return mlir::ValueRange(task_.getAccumulators()).getTypes();
  }
  // Of each dimension of the plan, how many indices at either end have code of their own.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> ends_;
  // Reads that leave short rows. The body writes to none of what they read.
  llvm::SmallVector<ir::GlobalOp> across_;
  // Nodes with a mask: how far the body reads along each axis; whether the 32 cells of a word are
  // in one row.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> reach_;
  bool in_row_ = false;
  // The index of the cell that the loops over the block are at.
  TreeWalker::Coordinates up_;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_STRUCT_EMITTER_H_
