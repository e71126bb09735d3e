// An index as a sum: values times numbers, plus a number.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_LINEAR_H_
#define KILN_SERVER_COMPILER_AUTODIFF_LINEAR_H_

#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Value.h"

namespace kiln {

// Takes the program's sums of 32 and 64 bits as exact: the indices of an access that is in bounds
// do not overflow. Narrower ones, which may wrap, are terms.
struct Linear {
  // Terms may cancel out and stay with the factor 0.
  llvm::SmallMapVector<mlir::Value, int64_t, 4> terms;
  int64_t number = 0;

  // Adds `factor` times `value`, taken apart into its additions, subtractions, and multiplications
  // by constants.
  void Add(mlir::Value value, int64_t factor);
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_LINEAR_H_
