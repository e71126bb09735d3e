#include "server/compiler/codegen/counted_loop.h"

namespace kiln {

using llvm::BasicBlock;
using llvm::Value;

CountedLoop::CountedLoop(FunctionEmitter& f, const Names& names, Value* from, Value* to,
                         mlir::TypeRange types, llvm::ArrayRef<Value*> start, Value* step)
    : f_(f), step_(step != nullptr ? step : llvm::ConstantInt::get(from->getType(), 1)) {
  llvm::IRBuilder<>& b = f.builder();
  header_ = f.NewBlock(names.header);
  BasicBlock* body = f.NewBlock(names.body);
  if (names.next != nullptr) next_ = f.NewBlock(names.next);
  exit_ = f.NewBlock(names.exit);
  values_ = f.Phis(header_, types);
  if (next_ != nullptr) next_values_ = f.Phis(next_, types);
  index_ = llvm::IRBuilder<>(header_, header_->begin()).CreatePHI(from->getType(), 2);
  index_->addIncoming(from, b.GetInsertBlock());
  f.BranchTo(header_, values_, start);
  b.SetInsertPoint(header_);
  // The test is at the top because a range may be empty. LLVM rotates the loop.
  b.CreateCondBr(b.CreateICmpSLT(index_, to), body, exit_);
  b.SetInsertPoint(body);
}

void CountedLoop::End(llvm::ArrayRef<Value*> after, Vectorise vectorise, uint32_t together,
                      bool independent) {
  llvm::IRBuilder<>& b = f_.builder();
  BasicBlock* latch = b.GetInsertBlock();
  index_->addIncoming(b.CreateNSWAdd(index_, step_), latch);
  for (auto [phi, value] : llvm::zip(values_, after)) phi->addIncoming(value, latch);
  f_.BranchBack(header_, vectorise, together, independent);
  b.SetInsertPoint(exit_);
}

}  // namespace kiln
