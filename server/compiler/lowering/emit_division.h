// Quotients and remainders. Private to emit_op.h's files.
#ifndef KILN_SERVER_COMPILER_LOWERING_EMIT_DIVISION_H_
#define KILN_SERVER_COMPILER_LOWERING_EMIT_DIVISION_H_

#include "kiln/proto/op.pb.h"
#include "server/compiler/lowering/scalar_builder.h"

namespace kiln {

// OP_TRUEDIV (of floats), OP_FLOORDIV, OP_MOD, OP_RAW_DIV and OP_RAW_MOD.
mlir::Value EmitDivision(const ScalarBuilder& s, proto::Op op, mlir::Value x, mlir::Value y);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_EMIT_DIVISION_H_
