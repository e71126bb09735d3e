// A pass that replaces divisions by square roots.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_RECIPROCAL_ROOTS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_RECIPROCAL_ROOTS_H_

#include <cstdint>

#include "llvm/IR/PassManager.h"

namespace kiln::cpu {

// Divisions of f32 by square roots that may use reciprocals (`arcp`, of fast_math) multiply by the
// processor's estimate of 1 / sqrt(z), refined by a step of Newton's method: 3 ulp at most, in a
// fraction of the time of a root and a division.
//
// LLVM does so, too. But its result is NaN for 0 and for infinity. It also turns x / (z * sqrt(z))
// into x / sqrt(z * z * z), which is NaN for a z of 1e13. Here 0 gives infinity and infinity gives
// 0. The estimate treats denormal numbers as 0, so they give infinity.
class ReciprocalRootsPass : public llvm::PassInfoMixin<ReciprocalRootsPass> {
 public:
  static constexpr char kName[] = "reciprocal-roots";

  // `level`: of x86-64.
  explicit ReciprocalRootsPass(uint32_t level) : level_(level) {}
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);

 private:
  uint32_t level_;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_RECIPROCAL_ROOTS_H_
