// Casts of scalars. emit_op.h says what they compute.
#ifndef KILN_SERVER_COMPILER_LOWERING_EMIT_CAST_H_
#define KILN_SERVER_COMPILER_LOWERING_EMIT_CAST_H_

#include "kiln/proto/type.pb.h"
#include "mlir/IR/Builders.h"

namespace kiln {

// The options of a unit on which the code of an op depends.
struct EmitOptions {
  bool fast_math = true;
  bool debug = false;
};

mlir::Value EmitCast(mlir::OpBuilder& b, mlir::Location loc, proto::Scalar from, proto::Scalar to,
                     mlir::Value x, const EmitOptions& options);
// Widths are equal.
mlir::Value EmitBitCast(mlir::OpBuilder& b, mlir::Location loc, proto::Scalar from,
                        proto::Scalar to, mlir::Value x);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_EMIT_CAST_H_
