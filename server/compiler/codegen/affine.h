// Index arithmetic: i64 sums of constant multiples of loop indices and other values.
//
// Index expressions of the kernel are i32 and may wrap. Addresses add loop indices in i64 without
// wrapping, so that LLVM sees that accesses are consecutive. What an expression adds to them stays
// an i32 that may wrap. The sum of both is then the index that the kernel means, if that is within
// bounds: the sum is between -2^32 and 2^32, and so differs from the wrapped one only if that is
// negative or at least 2^31.
#ifndef KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_
#define KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_

#include <optional>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "mlir/IR/Value.h"

namespace kiln {

struct Affine {
  struct Term {
    llvm::Value* leaf;  // i64, or narrower and signed
    int64_t factor;
    int64_t low, high;  // bounds of the leaf, inclusive; low > high: unknown
    bool is_index;      // of a loop or a sparse cell, so that the leaf is no arbitrary number
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

// A single index with its bounds, inclusive; unknown if low > high.
Affine Leaf(llvm::Value* value, int64_t low = 1, int64_t high = 0);

// An index from `lower` to below `upper`: its bounds are known if both are constants.
Affine IndexBetween(llvm::Value* index, const llvm::Value* lower, const llvm::Value* upper);

// Quotient and remainder, rounded down: by form where that is exact (loops over the digits of a
// blocked layout), else by instructions.
std::pair<Affine, Affine> DivideAffine(llvm::IRBuilder<>& b, const Affine& value, int64_t divisor);

// Reads index expressions out of the kernel.
class AffineReader {
 public:
  using Emitted = llvm::DenseMap<mlir::Value, llvm::Value*>;  // the instruction of any value

  // The loops' own indices.
  void Define(mlir::Value value, Affine sum) { leaves_[value] = std::move(sum); }
  Affine Read(llvm::IRBuilder<>& b, mlir::Value value, const Emitted& emitted) const;

 private:
  Affine ReadTerms(llvm::IRBuilder<>& b, mlir::Value value, const Emitted& emitted,
                   int depth) const;
  std::optional<Affine> ReadSum(llvm::IRBuilder<>& b, mlir::Operation* op, const Emitted& emitted,
                                int depth) const;
  std::optional<Affine> ReadProduct(llvm::IRBuilder<>& b, mlir::Operation* op,
                                    const Emitted& emitted, int depth) const;

  llvm::DenseMap<mlir::Value, Affine> leaves_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_
