// The meaning of every op of proto/op.proto on scalars, as arith, math and LLVM
// dialect operations. Lowering scalarises tensors and calls these; nothing else
// decides what an op computes.
//
// Values are signless (scalar_value.h). Operands are already cast to one scalar, the one that
// common/language/type_rules.h names (shift counts: that of the left operand).
//
// No op traps or yields poison. For integers, x // 0 and x % 0 are 0, the most
// negative integer // -1 wraps, and shift counts are taken modulo the width. Floats that do
// not fit an integer type, and NaN, cast to its most negative number, as on x86;
// narrow types take the low bits of i32.
#ifndef KILN_SERVER_COMPILER_LOWERING_EMIT_OP_H_
#define KILN_SERVER_COMPILER_LOWERING_EMIT_OP_H_

#include "kiln/proto/op.pb.h"
#include "kiln/proto/type.pb.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/lowering/emit_cast.h"

namespace kiln {

// Ops of FAMILY_UNARY. `scalar` is the operand's. Results: see RESULT_* (u1 for
// logical_not, isnan, isinf; i32 for popcnt, clz, frexp_exponent). Operands of
// RESULT_FLOAT ops are floats already.
mlir::Value EmitUnary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, proto::Scalar scalar,
                      mlir::Value x, const EmitOptions& options);

// Binary and compare ops but matmul. `scalar` is that of both operands. Compares
// and logic yield u1.
mlir::Value EmitBinary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, proto::Scalar scalar,
                       mlir::Value x, mlir::Value y, const EmitOptions& options);

// OP_SELECT. `condition` is u1.
mlir::Value EmitTernary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, proto::Scalar scalar,
                        mlir::Value condition, mlir::Value x, mlir::Value y,
                        const EmitOptions& options);

// What an atomic read-modify-write combines: OP_ATOMIC_ADD -> OP_ADD and so on;
// OP_NONE for other ops.
proto::Op AtomicCombiner(proto::Op op);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_EMIT_OP_H_
