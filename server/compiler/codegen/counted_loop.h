// A counted loop under construction, whose iterations hand on values:
//
//   header (index, values) -> body -> … -> header, header -> exit
//
//   CountedLoop loop(f, {"row", "iteration", nullptr, "row_end"}, from, to, types, start);
//   …               // the body, at the builder's place
//   loop.End(after);  // the values after an iteration; the builder is at the exit
//
// Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_COUNTED_LOOP_H_
#define KILN_SERVER_COMPILER_CODEGEN_COUNTED_LOOP_H_

#include "server/compiler/codegen/function_emitter.h"

namespace kiln {

class CountedLoop {
 public:
  using Values = llvm::SmallVector<llvm::Value*, 4>;
  using Phis = llvm::SmallVector<llvm::PHINode*, 4>;
  // Names of the blocks. `next`: the block where several ends of the body meet, with a phi for each
  // value; null: the body has one end.
  struct Names {
    const char *header, *body, *next, *exit;
  };

  // The index counts from `from` to before `to`, in their type, by `step` (null: 1). Moves the
  // builder to the body.
  CountedLoop(FunctionEmitter& f, const Names& names, llvm::Value* from, llvm::Value* to,
              mlir::TypeRange types, llvm::ArrayRef<llvm::Value*> start,
              llvm::Value* step = nullptr);

  llvm::PHINode* index() const { return index_; }
  // In the body those before the iteration, at the exit those of the loop.
  Values values() const { return Values(values_.begin(), values_.end()); }
  llvm::BasicBlock* header() const { return header_; }
  llvm::BasicBlock* next() const { return next_; }
  const Phis& next_values() const { return next_values_; }
  llvm::BasicBlock* exit() const { return exit_; }

  // Ends the body at the builder's place. `vectorise` and what follows:
  // FunctionEmitter::BranchBack.
  using Vectorise = FunctionEmitter::Vectorise;
  void End(llvm::ArrayRef<llvm::Value*> after, Vectorise vectorise = Vectorise::kAsLlvmSees,
           uint32_t together = 0, bool independent = false);
  // The same with the values of `next`, whose block the builder is in.
  void End(Vectorise vectorise = Vectorise::kAsLlvmSees, uint32_t together = 0,
           bool independent = false) {
    End(Values(next_values_.begin(), next_values_.end()), vectorise, together, independent);
  }

 private:
  FunctionEmitter& f_;
  llvm::Value* const step_;
  llvm::BasicBlock* header_;
  llvm::BasicBlock* next_ = nullptr;
  llvm::BasicBlock* exit_;
  llvm::PHINode* index_;
  Phis values_, next_values_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_COUNTED_LOOP_H_
