// What the bits of a float say. Private to emit_op.h's files.
#ifndef KILN_SERVER_COMPILER_LOWERING_FLOAT_BITS_H_
#define KILN_SERVER_COMPILER_LOWERING_FLOAT_BITS_H_

#include "kiln/proto/op.pb.h"
#include "server/compiler/lowering/scalar_builder.h"

namespace kiln {

// OP_ISNAN and OP_ISINF.
mlir::Value EmitClass(const ScalarBuilder& s, proto::Op op, mlir::Value x);

// OP_FREXP_MANTISSA and OP_FREXP_EXPONENT: x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1.
// Zero, infinities and NaN are their own mantissa, with exponent 0.
mlir::Value EmitFrexp(const ScalarBuilder& s, proto::Op op, mlir::Value x);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_FLOAT_BITS_H_
