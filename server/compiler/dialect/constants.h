// Values that are always the same integer.
#ifndef KILN_SERVER_COMPILER_DIALECT_CONSTANTS_H_
#define KILN_SERVER_COMPILER_DIALECT_CONSTANTS_H_

#include <cstdint>
#include <optional>

#include "mlir/IR/Value.h"

namespace kiln {

// The integer that an arith.constant gives to the value, extended by its sign. nullopt for other
// values and for integers of more than 64 bits.
std::optional<int64_t> ConstantOf(mlir::Value value);

// The bounds of a loop, if both are constant.
struct ConstantBounds {
  int64_t lower = 0, upper = 0;
};
std::optional<ConstantBounds> ConstantBoundsOf(mlir::Value lower, mlir::Value upper);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_CONSTANTS_H_
