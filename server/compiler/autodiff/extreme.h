// Atomic minima and maxima: which of the values took part in the result.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_EXTREME_H_
#define KILN_SERVER_COMPILER_AUTODIFF_EXTREME_H_

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace kiln {

// Whether the op is an atomic minimum or maximum of floats.
bool IsExtremeAtomic(mlir::Operation* op);

// Whether `primal`, computed again, is the value that memory got from it.
//
// The first computation may differ in its last bits: other code around it makes LLVM contract or
// vectorise it otherwise. So values count as equal within a bound of these errors, which grows with
// the terms of sums, not with their result. `value_of` gives the value of the primal code's values
// where the builder is.
mlir::Value IsExtreme(mlir::OpBuilder& b, mlir::Value primal, mlir::Value in_memory,
                      llvm::function_ref<mlir::Value(mlir::Value)> value_of);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_EXTREME_H_
