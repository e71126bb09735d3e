// A pass that keeps minima and maxima of integers free of branches.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_BRANCH_FREE_EXTREMES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_BRANCH_FREE_EXTREMES_H_

#include "llvm/IR/PassManager.h"

namespace kiln::cpu {

// Turns scalar minima and maxima of integers into selections marked as unpredictable:
//
//   %m = call i32 @llvm.smin.i32(i32 %a, i32 %b)
//
//   %less = icmp slt i32 %a, %b
//   %m = select i1 %less, i32 %a, i32 %b, !unpredictable
//
// x86-64 has no instruction for them, and LLVM makes branches of those that a chain of iterations
// goes through. A table of dynamic programming, where each cell is the least of its neighbours,
// then takes twice the time: the processor guesses such branches wrong.
struct BranchFreeExtremesPass : llvm::PassInfoMixin<BranchFreeExtremesPass> {
  static constexpr char kName[] = "branch-free-extremes";

  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_BRANCH_FREE_EXTREMES_H_
