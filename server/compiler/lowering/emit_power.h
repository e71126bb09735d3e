// Powers. Private to emit_op.h's files.
#ifndef KILN_SERVER_COMPILER_LOWERING_EMIT_POWER_H_
#define KILN_SERVER_COMPILER_LOWERING_EMIT_POWER_H_

#include "server/compiler/lowering/scalar_builder.h"

namespace kiln {

// Integers: x^|y|, wrapping. Floats: as pow(3), with fast math only nearly.
mlir::Value EmitPower(const ScalarBuilder& s, mlir::Value x, mlir::Value y);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_EMIT_POWER_H_
