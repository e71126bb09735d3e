#include "server/compiler/dialect/constants.h"

#include "mlir/IR/Matchers.h"

namespace kiln {

std::optional<int64_t> ConstantOf(mlir::Value value) {
  llvm::APInt bits;
  if (!mlir::matchPattern(value, mlir::m_ConstantInt(&bits)) || bits.getBitWidth() > 64) {
    return std::nullopt;
  }
  return bits.getSExtValue();
}

std::optional<ConstantBounds> ConstantBoundsOf(mlir::Value lower, mlir::Value upper) {
  const std::optional<int64_t> first = ConstantOf(lower), end = ConstantOf(upper);
  if (!first || !end) return std::nullopt;
  return ConstantBounds{*first, *end};
}

}  // namespace kiln
