// Derivatives of scalar ops: one row for each arithmetic op on floats that lowering makes.
//
// Both modes use the same rows. If t is an adjoint of the op's result, reverse mode adds
// Times(i, t) to the adjoint of operand i. If t is the dual of operand i, forward mode adds it to
// the dual of the result.
//
// At kinks the derivative is that of one side, as in the reference. min takes the left operand
// where it is less, max where the right one is less. abs has 0 at 0. Zeros are strong: where a
// factor of a derivative may be infinite or NaN (sqrt, log, division, ...), t = 0 gives 0. Products
// and sines have infinite factors only if their operands are: see dropped.h.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_DERIVATIVES_H_
#define KILN_SERVER_COMPILER_AUTODIFF_DERIVATIVES_H_

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace kiln {

// An attribute of a select between 0 and a product, by whether the factor t is 0. The product may
// be infinite or NaN then; as a function of t it is continuous.
inline constexpr char kStrongZero[] = "strong_zero";

// Why an op cannot be differentiated, in either mode.
inline constexpr char kNoDerivative[] =
    "this operation has no derivative: ti.stop_grad(x) makes its operand a constant";
inline constexpr char kNoAtomicDerivative[] =
    "this atomic operation has no derivative: only additions, subtractions, minima and maxima have "
    "one";
inline constexpr char kNoDerivativeOfOld[] =
    "an atomic operation on cells that several iterations change has no derivative if its result "
    "is used";

// Whether the op has a row. Ops without one have no derivative: their float operands must not be
// active.
bool HasDerivative(mlir::Operation* op);

// Whether the derivative by operand i is zero everywhere: operands that are no floats, floor, the
// condition of a select.
bool IsConstantIn(mlir::Operation* op, unsigned operand);

// The derivative of the op's result by operand i, times t. `value_of` gives the value of the op's
// operands and result where the builder is. Requires: HasDerivative(op), !IsConstantIn(op,
// operand).
mlir::Value Times(mlir::OpBuilder& b, mlir::Operation* op, unsigned operand, mlir::Value t,
                  llvm::function_ref<mlir::Value(mlir::Value)> value_of);

// A product of t: 0 if t is 0, even where the other factor is infinite or NaN.
mlir::Value StrongProduct(mlir::OpBuilder& b, mlir::Location loc, mlir::Value t,
                          mlir::Value product);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_DERIVATIVES_H_
