// The types of scalars in the IR, and constants of them.
//
// Values are signless: u1 is i1 (one byte in memory), iN and uN are iN. The
// proto Scalar tells signedness.
#ifndef KILN_SERVER_COMPILER_LOWERING_SCALAR_VALUE_H_
#define KILN_SERVER_COMPILER_LOWERING_SCALAR_VALUE_H_

#include <cstdint>

#include "kiln/proto/type.pb.h"
#include "mlir/IR/Builders.h"

namespace kiln {

// The MLIR type of a value (u1: i1) and of the same scalar in memory (u1: i8).
mlir::Type ValueType(mlir::MLIRContext* context, proto::Scalar scalar);
mlir::Type MemoryType(mlir::MLIRContext* context, proto::Scalar scalar);

// A constant from its bits, zero-extended, as in the node CONST.
mlir::Value EmitConstant(mlir::OpBuilder& b, mlir::Location loc, proto::Scalar scalar,
                         uint64_t bits);
// A constant of the given mathematical value.
mlir::Value EmitNumber(mlir::OpBuilder& b, mlir::Location loc, proto::Scalar scalar, double value);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_SCALAR_VALUE_H_
