// Histograms: small fields and arrays that a loop only adds to. Each block gathers its updates in
// shared memory, where many threads that meet at one cell cost little, and then hands on the cells
// that it has changed. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_HISTOGRAMS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_HISTOGRAMS_H_

#include <optional>
#include <vector>

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// The fields and arrays of a task for which blocks have memory: all that the task does to them is
// to update their cells by atomics of one kind whose old values it does not use. So it does not
// matter when the updates happen. None if some thread may leave the task early: it would be waited
// for. Whether an array is small, and is no part of another one, is seen at run time.
class Histograms {
 public:
  Histograms(FunctionEmitter& f, ir::RangeTaskOp task);

  // Whether to gather, in a loop of so many iterations, if they are known.
  bool Pay(std::optional<int64_t> total) const;
  // States how many threads run the task.
  void Describe(proto::Task* task);
  // Before the loop, which has `total` iterations: clears the block's memory, and has the atomics
  // of code that is emitted later use it, if there are enough of them.
  void EmitBegin(llvm::Value* total);
  // After the loop, by all threads of the block.
  void EmitEnd();

 private:
  struct Field {
    int64_t storage;
    int base;
    ir::AtomicKind kind;  // that combines partial results
    mlir::Type type;
    int64_t room;  // of a block's memory, in cells; a field's own number
    std::vector<ir::AtomicOp> atomics;
    llvm::Value* cells = nullptr;  // their number
    llvm::Value* memory = nullptr;
  };

  int64_t KnownCells() const;
  bool FindFields();
  bool Add(ir::AtomicOp atomic);
  std::optional<int64_t> RoomFor(ir::GlobalOp address, mlir::Type type);
  bool IsUpdatedOnly(const Field& field);
  ir::NdarrayAttr ArrayOf(const Field& field) const;  // null: it is a field
  llvm::Value* BaseOf(const Field& field);
  llvm::Value* EmitEndOf(ir::NdarrayAttr array);
  llvm::Value* EmitIsApart(ir::NdarrayAttr array, int64_t storage);
  void ForEachCell(const Field& field, llvm::function_ref<void(llvm::Value* cell)> emit);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  std::vector<Field> fields_;
  llvm::Value* pays_ = nullptr;  // an i1
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_HISTOGRAMS_H_
