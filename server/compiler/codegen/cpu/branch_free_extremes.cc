#include "server/compiler/codegen/cpu/branch_free_extremes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace kiln::cpu {

llvm::PreservedAnalyses BranchFreeExtremesPass::run(llvm::Function& f,
                                                    llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
    auto* extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&i);
    if (extreme == nullptr || !extreme->getType()->isIntegerTy()) continue;
    // Both sides read the operands, of which undef could be a different number each time.
    llvm::IRBuilder<> b(extreme);
    llvm::Value* left = b.CreateFreeze(extreme->getLHS());
    llvm::Value* right = b.CreateFreeze(extreme->getRHS());
    llvm::Value* wins = b.CreateICmp(extreme->getPredicate(), left, right);
    llvm::Value* chosen = b.CreateSelect(wins, left, right);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(chosen)) {
      select->setMetadata(llvm::LLVMContext::MD_unpredictable,
                          llvm::MDNode::get(f.getContext(), {}));
    }
    chosen->takeName(extreme);
    extreme->replaceAllUsesWith(chosen);
    extreme->eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace kiln::cpu
