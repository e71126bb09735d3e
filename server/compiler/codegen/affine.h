// Index arithmetic: i64 sums of constant multiples of loop indices and other values.
//
// Index expressions of the kernel are i32 and may wrap; an index that wrapped is out
// of bounds, so addresses are computed in i64 without wrapping. That is what lets
// LLVM see consecutive accesses.
#ifndef KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_
#define KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_

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
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 4> terms;

  void Add(const Affine& other, int64_t factor);
  bool Range(int64_t* low, int64_t* high) const;
};

// The terms' sum without the constant; null: no terms.
llvm::Value* EmitTerms(llvm::IRBuilder<>& b, const Affine& affine);
llvm::Value* EmitAffine(llvm::IRBuilder<>& b, const Affine& affine);

// Quotient and remainder by form: what the divisor divides, and a rest of which the constant
// lies in [0, divisor). Exact, whatever the sign, if the rest's range lies in it as well.
std::pair<Affine, Affine> SplitAffine(const Affine& value, int64_t divisor);
bool IsRemainder(const Affine& rest, int64_t divisor);

// A value of its own, known to lie in [low, high]; unknown if low > high.
Affine Leaf(llvm::Value* value, int64_t low = 1, int64_t high = 0);

// Quotient and remainder of a value >= 0. Exact by form where the terms allow (loops
// over the digits of a blocked layout), by division else.
std::pair<Affine, Affine> DivideAffine(llvm::IRBuilder<>& b, const Affine& value, int64_t divisor);

// Reads index expressions out of the kernel.
class AffineReader {
 public:
  // The loops' own indices.
  void Define(mlir::Value value, llvm::Value* leaf, int64_t low, int64_t high);
  void Define(mlir::Value value, Affine sum) { leaves_[value] = std::move(sum); }
  // `emitted` gives the instruction of any value.
  Affine Read(mlir::Value value, const llvm::DenseMap<mlir::Value, llvm::Value*>& emitted,
              int depth = 0) const;

 private:
  llvm::DenseMap<mlir::Value, Affine> leaves_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_AFFINE_H_
