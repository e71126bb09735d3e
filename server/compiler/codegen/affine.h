// Index arithmetic: i64 sums of constant multiples of loop indices and other values.
//
// Index expressions of the kernel are i32 and may wrap. A sum that wrapped is out of bounds in any
// case, so addresses are computed in i64 without wrapping. That lets LLVM see that accesses are
// consecutive. Not so if other operations have seen the wrapped sum: s - (s & -16) is below 16,
// whatever s is.
#ifndef KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_
#define KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_

#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "mlir/IR/Value.h"

namespace kiln {

struct Affine {
  struct Term {
    llvm::Value* leaf;  // i64, or narrower and signed
    int64_t factor;
    int64_t low, high;  // bounds of the leaf, inclusive; low > high: unknown
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 4> terms;

  void Add(const Affine& other, int64_t factor);
  // The bounds of the sum; false: those of some leaf are unknown.
  bool Range(int64_t* low, int64_t* high) const;
};

// The terms' sum without the constant; null: no terms.
llvm::Value* EmitTerms(llvm::IRBuilder<>& b, const Affine& affine);
llvm::Value* EmitAffine(llvm::IRBuilder<>& b, const Affine& affine);

// Quotient and remainder by form, without an instruction: the terms whose factors the divisor
// divides, and the rest, whose constant is in [0, divisor). They are quotient and remainder,
// whatever the sign, if IsRemainder says so of the rest: its bounds are in [0, divisor) as well.
std::pair<Affine, Affine> SplitAffine(const Affine& value, int64_t divisor);
bool IsRemainder(const Affine& rest, int64_t divisor);

// A single value with its bounds, inclusive; unknown if low > high.
Affine Leaf(llvm::Value* value, int64_t low = 1, int64_t high = 0);

// An index from `lower` to below `upper`: its bounds are known if both are constants.
Affine IndexBetween(llvm::Value* index, const llvm::Value* lower, const llvm::Value* upper);

// Quotient and remainder, rounded down: by form where that is exact (loops over the digits of a
// blocked layout), else by instructions.
std::pair<Affine, Affine> DivideAffine(llvm::IRBuilder<>& b, const Affine& value, int64_t divisor);

// Reads index expressions out of the kernel.
class AffineReader {
 public:
  // The loops' own indices.
  void Define(mlir::Value value, Affine sum) { leaves_[value] = std::move(sum); }
  // `emitted` gives the instruction of any value.
  Affine Read(mlir::Value value, const llvm::DenseMap<mlir::Value, llvm::Value*>& emitted,
              int depth = 0) const;

 private:
  using Values = llvm::SmallPtrSet<mlir::Value, 8>;

  void AddSums(mlir::Value value, Values* sums, int depth) const;
  bool DependsOn(mlir::Value value, const Values& sums) const;
  bool MayHaveWrapped(mlir::Value x, mlir::Value y) const;

  llvm::DenseMap<mlir::Value, Affine> leaves_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_
