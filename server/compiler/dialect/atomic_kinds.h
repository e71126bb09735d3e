// What each kind of kiln.atomic computes, in arith operations.
#ifndef KILN_SERVER_COMPILER_DIALECT_ATOMIC_KINDS_H_
#define KILN_SERVER_COMPILER_DIALECT_ATOMIC_KINDS_H_

#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// What an atomic stores: `old` and `value` combined. `flags` are for kinds of float arithmetic.
mlir::Value Combine(mlir::OpBuilder& builder, mlir::Location loc, ir::AtomicKind kind,
                    mlir::Value old, mlir::Value value, mlir::arith::FastMathFlags flags);

// The value of a type that changes nothing when combined: 0 for sums, 1 for products, the greatest
// value for minima. For subi and subf it is the second operand.
mlir::TypedAttr IdentityOf(ir::AtomicKind kind, mlir::Type type);

// The kind that combines two partial results of a kind: what was subtracted is added up.
ir::AtomicKind KindOfPartials(ir::AtomicKind kind);

// The kind that combines partial results of accumulator number `index` of a task, as its finish
// says; nullopt: it does something else with them.
std::optional<ir::AtomicKind> KindOfAccumulator(ir::RangeTaskOp task, size_t index);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_ATOMIC_KINDS_H_
