// What debug mode checks: indices, integer division, signed overflow. All have defined
// results in release; in debug they are the user's mistake, reported at the node.
#include "server/compiler/frontend/lowering.h"

namespace kiln {

namespace arith = mlir::arith;

// assert 0 <= index - offset < extent on each axis; the values are indices and extents.
void Lowering::CheckBounds(const Node& node, const Scalars& indices) {
  if (indices.empty()) return;
  const int storage = storages_.of_param[node.index()];
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
  auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storages_.attributes[storage]);
  if (ndarray && ndarray.getClamp()) return;  // every index is fine
  Scalars values = indices;
  mlir::Value inside;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    mlir::Value extent = AxisExtent(storage, axis, b_.getI32Type());
    values.push_back(extent);
    mlir::Value index = indices[axis];
    if (dense && dense.getAxisOffset(axis) != 0) {
      index = b_.create<mlir::arith::SubIOp>(loc_, index, Int32(dense.getAxisOffset(axis)));
    }
    mlir::Value here =
        b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::ult, index, extent);
    inside = inside ? b_.create<mlir::arith::AndIOp>(loc_, inside, here) : here;
  }
  b_.create<ir::AssertOp>(loc_, inside, node_, values, mlir::DenseI64ArrayAttr());
}

// Unsigned arithmetic wraps on purpose (hashes, random numbers); signed rarely does.
void Lowering::CheckArithmetic(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y) {
  mlir::Value wrong;
  switch (op) {
    case proto::OP_FLOORDIV:
    case proto::OP_MOD:
    case proto::OP_RAW_DIV:
    case proto::OP_RAW_MOD:
      if (IsFloat(scalar)) return;
      wrong = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, y,
                                       EmitConstant(b_, loc_, scalar, 0));
      break;
    case proto::OP_ADD:
    case proto::OP_SUB:
    case proto::OP_MUL:
      // The narrow ones are computed on purpose in few bits.
      if (!IsSignedInt(scalar) || ScalarBits(scalar) < 32) return;
      wrong = Overflows(op, x, y);
      break;
    default:
      return;
  }
  mlir::Value right = b_.create<arith::XOrIOp>(loc_, wrong, Int(b_.getI1Type(), 1));
  b_.create<ir::AssertOp>(loc_, right, node_, mlir::ValueRange({x, y}), mlir::DenseI64ArrayAttr());
}

// Whether the result of twice the width differs from that of the width itself.
mlir::Value Lowering::Overflows(proto::Op op, mlir::Value x, mlir::Value y) {
  mlir::Type type = x.getType();
  mlir::Type wide = b_.getIntegerType(2 * type.getIntOrFloatBitWidth());
  mlir::Value a = b_.create<arith::ExtSIOp>(loc_, wide, x);
  mlir::Value b = b_.create<arith::ExtSIOp>(loc_, wide, y);
  mlir::Value exact;
  if (op == proto::OP_ADD) exact = b_.create<arith::AddIOp>(loc_, a, b);
  if (op == proto::OP_SUB) exact = b_.create<arith::SubIOp>(loc_, a, b);
  if (op == proto::OP_MUL) exact = b_.create<arith::MulIOp>(loc_, a, b);
  mlir::Value kept = b_.create<arith::ExtSIOp>(
      loc_, wide, b_.create<arith::TruncIOp>(loc_, type, exact).getResult());
  return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ne, kept, exact);
}

}  // namespace kiln
