// A pass that shifts bytes and 16-bit integers in lanes of their width.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_NARROW_SHIFTS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_NARROW_SHIFTS_H_

#include <cstdint>

#include "llvm/IR/PassManager.h"

namespace kiln::cpu {

// Integers of 8 and 16 bits are shifted in 32 bits, so that counts up to 31 are defined:
//
//   %r = trunc (lshr (zext i8 %x to i32), %count) to i8
//
// LLVM narrows this only if it knows that the count is less than the width. A loop over bytes then
// works in lanes of 32 bits. In innermost loops that access nothing wider, this pass makes of it
//
//   %r = lshr i8 (select (%count < 8), %x, 0), (%count & 7)
//
// where that is faster on CPU target `level`. Measured in a loop over arrays in the cache: with a
// count that the loop does not change, bytes take a fifth of the time, or half of it with AVX-512.
// With counts of their own they take 0.4 to 0.7 of it with AVX2, and a third without. AVX-512
// shifts lanes of 16 bits, each by a count of its own, which LLVM uses for the wide form.
class NarrowShiftsPass : public llvm::PassInfoMixin<NarrowShiftsPass> {
 public:
  static constexpr char kName[] = "narrow-shifts";

  explicit NarrowShiftsPass(uint32_t level) : level_(level) {}
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);

 private:
  uint32_t level_;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_NARROW_SHIFTS_H_
