// A pass that tells LLVM how small integers are.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_BOUND_OPERANDS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_BOUND_OPERANDS_H_

#include "llvm/IR/PassManager.h"

namespace kiln::cpu {

// Masks what is shifted right or divided before a truncation with the bits that it can have. An
// example is `(a + b + …) >> 3` of bytes that is stored as a byte. `aggressive-instcombine` narrows
// such arithmetic, and so doubles the lanes of its loop, but sees no bounds through more than a few
// operations. Later passes remove the masks.
struct BoundOperandsPass : llvm::PassInfoMixin<BoundOperandsPass> {
  static constexpr char kName[] = "bound-operands";

  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_BOUND_OPERANDS_H_
