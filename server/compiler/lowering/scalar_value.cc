#include "server/compiler/lowering/scalar_value.h"

#include "common/language/type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln {

using mlir::Value;
namespace arith = mlir::arith;

mlir::Type ValueType(mlir::MLIRContext* context, Scalar scalar) {
  switch (scalar) {
    case proto::F16:
      return mlir::Float16Type::get(context);
    case proto::F32:
      return mlir::Float32Type::get(context);
    case proto::F64:
      return mlir::Float64Type::get(context);
    default:
      return mlir::IntegerType::get(context, ScalarBits(scalar));
  }
}

// A byte for u1: no smaller unit has an address.
mlir::Type MemoryType(mlir::MLIRContext* context, Scalar scalar) {
  return scalar == proto::U1 ? mlir::IntegerType::get(context, 8) : ValueType(context, scalar);
}

Value EmitConstant(mlir::OpBuilder& b, mlir::Location loc, Scalar scalar, uint64_t bits) {
  const mlir::Type type = ValueType(b.getContext(), scalar);
  const llvm::APInt value(64, bits);
  if (auto f = llvm::dyn_cast<mlir::FloatType>(type)) {
    // From the bits, so that NaNs and signed zeros stay what they are.
    const llvm::APFloat number(f.getFloatSemantics(), value.trunc(f.getWidth()));
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(f, number));
  }
  const unsigned width = type.getIntOrFloatBitWidth();
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value.zextOrTrunc(width)));
}

Value EmitNumber(mlir::OpBuilder& b, mlir::Location loc, Scalar scalar, double value) {
  const mlir::Type type = ValueType(b.getContext(), scalar);
  if (llvm::isa<mlir::FloatType>(type)) {
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value));
  }
  // Two ways, since neither integer type has the values of the other.
  const uint64_t bits =
      value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  return EmitConstant(b, loc, scalar, bits);
}

}  // namespace kiln
