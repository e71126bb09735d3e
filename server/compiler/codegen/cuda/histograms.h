// Histograms: small fields and arrays that a loop only adds to. Each block gathers its updates in
// shared memory, where many threads that meet at one cell cost little. It then hands on the cells
// that it has changed. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_HISTOGRAMS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_HISTOGRAMS_H_

#include <optional>
#include <vector>

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// The fields and arrays of a task for which blocks have memory. The task only updates their cells,
// by atomics of one kind, and does not use the old values. So it does not matter when the updates
// happen. None if some thread may leave the task early: it would be waited for. Whether a field or
// an array is small, and an array no part of another one, is seen at run time.
class Histograms {
 public:
  Histograms(FunctionEmitter& f, ir::RangeTaskOp task);

  // Whether to gather, in a loop of so many iterations, if they are known.
  bool Pay(std::optional<int64_t> total) const;
  // Whether the task writes nothing else, but to its own locals.
  bool HasAllWrites();
  // States how many threads run the task.
  void Describe(proto::Task* task);
  // Before the loop, which has `total` iterations: clears the block's memory if there are enough of
  // them.
  void EmitBegin(llvm::Value* total);
  // Whether the atomics of code that is emitted later use the block's memory. Such code may run
  // only if pays().
  void Use(bool is_used);
  // An i1, after EmitBegin: whether there are. Then nothing that the task reads changes in the
  // loop, if the task has no other writes.
  llvm::Value* pays() const { return pays_; }
  // After the loop, by all threads of the block.
  void EmitEnd();

 private:
  // The number of a field's cells: `each`, or so many times the extent in a slot.
  struct Cells {
    int64_t each;
    std::optional<int64_t> slot = std::nullopt;
  };
  struct Field {
    int64_t storage;
    int base;
    ir::AtomicKind kind;  // that combines partial results
    mlir::Type type;
    Cells count;
    std::vector<ir::AtomicOp> atomics;
    int64_t room = 0;              // of a block's memory, in cells
    llvm::Value* cells = nullptr;  // their number
    llvm::Value* memory = nullptr;
    FunctionEmitter::Copy copy = {};
  };

  int64_t KnownCells() const;
  bool FindFields();
  bool MakeRoom();
  bool Add(ir::AtomicOp atomic);
  static std::optional<Cells> CellsOf(ir::DenseAttr dense, int base, mlir::Type type);
  std::optional<Cells> CellsAt(ir::GlobalOp address, mlir::Type type);
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
