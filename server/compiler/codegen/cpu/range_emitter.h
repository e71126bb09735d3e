// Emits the loops of a range task on a CPU. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_EMITTER_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_EMITTER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cpu/range_form.h"
#include "server/compiler/codegen/dimensions.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/lane_emitter.h"

namespace kiln::cpu {

// A range task's code for a part of the linear space (range_task.h).
class RangeEmitter {
 public:
  RangeEmitter(FunctionEmitter& f, ir::RangeTaskOp task, std::vector<Dimension> dimensions)
      : f_(f),
        b_(f.builder()),
        task_(task),
        dimensions_(std::move(dimensions)),
        // The linear space counts the dimensions up to row_. Rows run along row_; those inside are
        // loops of constant length.
        row_(static_cast<int>(dimensions_.size()) - FoldedDimensions(dimensions_) - 1) {}

  // Emits the code for iterations [begin, end), which are i64. The code leaves the accumulators for
  // the task's finish, as those of number `piece`. Once, after the setters.
  void Emit(llvm::Value* begin, llvm::Value* end, llvm::Value* piece);
  // Moves the ends of chunks to where the loop may be cut (Cut), by steps of so many iterations.
  void set_step(int64_t step) { step_ = step; }
  // Runs iterations in lanes, along the innermost dimension, which is not folded.
  void set_lanes(LaneEmitter* lanes) { lanes_ = lanes; }
  // Of loops over cells.
  void set_vectorise(FunctionEmitter::Vectorise vectorise) { vectorise_ = vectorise; }
  // Iterations are independent (vectorise.h).
  void set_independent(bool independent) { independent_ = independent; }
  // Rows store `to` past the caches, if all of the loop's stores do not fit into them.
  void set_stream(ir::GlobalOp to) {
    if (!IsFolded() && lanes_ == nullptr) stream_ = to;
  }
  // Rows of a body that passes/split_rows.cc has split are two loops: of the cells inside, and of
  // those at the ends.
  void set_split(ir::IfOp split) {
    if (!IsFolded()) split_ = split;
  }
  // Whether much of a row may be left over behind its last vector.
  bool HasRaggedRows() const;

 private:
  using Accumulators = CountedLoop::Values;
  using Phis = CountedLoop::Phis;
  using Vectorise = FunctionEmitter::Vectorise;

  bool IsFolded() const { return row_ != static_cast<int>(dimensions_.size()) - 1; }
  Accumulators EmitRows(llvm::Value* begin, llvm::Value* end, const Accumulators& start);
  llvm::SmallVector<llvm::Value*, 4> IndicesOfRow(llvm::Value* row);
  void NextRow(const Phis& indices, llvm::BasicBlock* latch);
  // `outer`: the number of the cell among those of the dimensions outside, in row-major order.
  Accumulators EmitLoop(int dimension, llvm::Value* from, llvm::Value* to, llvm::Value* outer,
                        const Accumulators& start);
  llvm::Value* Bounded(llvm::Value* index);
  Accumulators EmitRow(llvm::Value* from, llvm::Value* to, llvm::Value* outer,
                       const Accumulators& start);
  void EmitStreamed(llvm::Value* from, llvm::Value* to, llvm::Value* outer);
  llvm::Value* EmitIsLarge();
  void EmitFence();
  Accumulators EmitSplit(llvm::Value* from, llvm::Value* to, llvm::Value* outer,
                         const Accumulators& start);
  Accumulators EmitCells(llvm::Value* from, llvm::Value* to, llvm::Value* outer,
                         const Accumulators& start, mlir::Block* branch, Vectorise vectorise);
  void EmitInside();
  void EmitBody(llvm::Value* number, const CountedLoop& loop, mlir::Block* branch = nullptr);
  llvm::Value* NumberOf(int dimension, llvm::Value* index, llvm::Value* outer);
  void MapIndex(int dimension, llvm::Value* index);
  llvm::Value* Cut(llvm::Value* at);
  mlir::TypeRange AccumulatorTypes() {
    return mlir::ValueRange(task_.getAccumulators()).getTypes();
  }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  std::vector<Dimension> dimensions_;
  const int row_;     // the innermost dimension that is not folded; -1: there is no dimension
  int64_t step_ = 0;  // 0: chunks end anywhere
  LaneEmitter* lanes_ = nullptr;
  Vectorise vectorise_ = Vectorise::kAsLlvmSees;
  bool independent_ = false;
  ir::GlobalOp stream_;              // null: stores go through the caches
  llvm::Value* is_large_ = nullptr;  // if not null: whether it is better that they do not
  ir::IfOp split_;                   // null: each row is one loop
  // If split: where the inner part of a row begins and ends, as indices, within the row.
  llvm::Value *inside_from_ = nullptr, *inside_to_ = nullptr;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_EMITTER_H_
