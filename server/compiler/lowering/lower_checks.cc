// What debug mode checks: indices, integer division, shifts, signed overflow. All have defined
// results in release; in debug they are the user's mistake, reported at the node.
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace arith = mlir::arith;

// assert 0 <= index - offset < extent on each axis; the values are indices and extents.
void Lowering::CheckBounds(const Node& node, const Scalars& indices) {
  CheckBounds(node, indices, llvm::to_vector(llvm::seq<int>(0, indices.size())));
}

void Lowering::CheckBounds(const Node& node, const Scalars& indices, llvm::ArrayRef<int> axes) {
  if (indices.empty()) return;
  const int storage = storages_.of_param[node.index()];
  auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storages_.attributes[storage]);
  if (ndarray && ndarray.getClamp()) return;  // every index is fine
  Scalars values = indices;
  mlir::Value inside;
  for (auto [given, axis] : llvm::zip(indices, axes)) {
    mlir::Value extent = AxisExtent(storage, axis, b_.getI32Type());
    values.push_back(extent);
    mlir::Value index = given;
    const int64_t offset = AxisOffset(storage, axis);
    if (offset != 0) index = b_.create<mlir::arith::SubIOp>(loc_, index, Int32(offset));
    mlir::Value here =
        b_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::ult, index, extent);
    inside = inside ? b_.create<mlir::arith::AndIOp>(loc_, inside, here) : here;
  }
  b_.create<ir::AssertOp>(loc_, inside, Number(), values, mlir::DenseI64ArrayAttr());
}

// assert 0 <= number, which says that the list had room; the values are the indices, twice, and how
// many cells there are.
void Lowering::CheckAppended(const Scalars& indices, ir::TreeFieldAttr field, mlir::Value number) {
  Scalars values = indices;
  values.append(indices);
  values.push_back(Int32(TreeOf(field).getNode(field.getNode()).getNumCells()));
  mlir::Value fits = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge, number, Int32(0));
  b_.create<ir::AssertOp>(loc_, fits, Number(), values, mlir::DenseI64ArrayAttr());
}

// assert that the cell which the loop visits is still active; `at` is its index. Asked where
// the kernel makes such cells inactive.
void Lowering::CheckVisited(int storage, ir::TreeFieldAttr field, const Scalars& at) {
  const int last = storages_.last_sparse[storage];
  if (last < 0) return;
  ir::TreeAttr tree = TreeOf(field);
  const int64_t node = tree.getLastSparse(field.getNode());
  Scalars above;
  for (auto [index, axis] : llvm::zip(at, field.getAxes().asArrayRef())) {
    const int64_t cells =
        tree.getAxisExtent(field.getNode(), axis) / tree.getAxisExtent(node, axis);
    above.push_back(cells == 1 ? index
                               : b_.create<arith::DivUIOp>(loc_, index, Int32(cells)).getResult());
  }
  mlir::Value active = b_.create<ir::IsActiveOp>(loc_, b_.getI1Type(), last, above);
  b_.create<ir::AssertOp>(loc_, active, Number(), AddOffsets(at, field.getOffset()),
                          mlir::DenseI64ArrayAttr());
}

// assert 0 <= index < extent for each run-time index of a matrix that is a value or a local;
// the values are the indices and the extents.
void Lowering::CheckElement(const Node& node, const std::vector<uint32_t>& shape) {
  Scalars values, extents;
  mlir::Value inside;
  for (size_t d = 0; d < shape.size(); ++d) {
    const uint32_t operand = node.operands(1 + d);
    values.push_back(ConvertTo(proto::I32, ScalarOf(operand), values_[operand][0]));
    extents.push_back(Int32(shape[d]));
    mlir::Value here =
        b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, values.back(), extents.back());
    inside = inside ? b_.create<arith::AndIOp>(loc_, inside, here) : here;
  }
  values.append(extents);
  b_.create<ir::AssertOp>(loc_, inside, Number(), values, mlir::DenseI64ArrayAttr());
}

// Division by zero, negative exponents, overflow. The values are the operands, and the op.
void Lowering::CheckArithmetic(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y) {
  if (IsFloat(scalar) || ScalarBits(scalar) < 8) return;
  const bool may_overflow = op == proto::OP_ADD || op == proto::OP_SUB || op == proto::OP_MUL ||
                            op == proto::OP_SHL || op == proto::OP_SHR || op == proto::OP_BIT_SHR;
  if (may_overflow && unit_.options().on_overflow() == proto::OVERFLOW_WRAPS) return;
  if (may_overflow && unit_.options().on_overflow() == proto::OVERFLOW_PRINTS) {
    return PrintOverflow(op, scalar, x, y);
  }
  mlir::Value wrong;
  switch (op) {
    case proto::OP_FLOORDIV:
    case proto::OP_MOD:
    case proto::OP_RAW_DIV:
    case proto::OP_RAW_MOD:
      wrong = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, y,
                                       EmitConstant(b_, loc_, scalar, 0));
      break;
    case proto::OP_SHL:
    case proto::OP_SHR:
    case proto::OP_BIT_SHR:
      wrong = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::uge, y,
                                       EmitConstant(b_, loc_, scalar, ScalarBits(scalar)));
      break;
    case proto::OP_POW:
      if (!IsSignedInt(scalar)) return;
      wrong = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, y,
                                       EmitConstant(b_, loc_, scalar, 0));
      break;
    case proto::OP_ADD:
    case proto::OP_SUB:
    case proto::OP_MUL:
      // Unsigned arithmetic wraps on purpose (hashes, random numbers).
      if (!IsSignedInt(scalar)) return;
      wrong = Overflows(op, scalar, x, y);
      break;
    default:
      return;
  }
  mlir::Value right = b_.create<arith::XOrIOp>(loc_, wrong, Int(b_.getI1Type(), 1));
  mlir::Value number = Int32(op);
  b_.create<ir::AssertOp>(loc_, right, Number(),
                          mlir::ValueRange({ToInt64(scalar, x), ToInt64(scalar, y), number}),
                          mlir::DenseI64ArrayAttr());
}

mlir::Value Lowering::ToInt64(Scalar scalar, mlir::Value x) {
  if (ScalarBits(scalar) == 64) return x;
  if (IsSignedInt(scalar)) return b_.create<arith::ExtSIOp>(loc_, b_.getI64Type(), x);
  return b_.create<arith::ExtUIOp>(loc_, b_.getI64Type(), x);
}

// Says that the operation overflows, and goes on. The value is the op: the program knows by it, and
// by the node being no print, what to say.
void Lowering::PrintOverflow(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y) {
  mlir::Value wrong;
  if (op == proto::OP_SHL) {
    wrong = LosesBits(scalar, x, y);
  } else if (op != proto::OP_SHR && op != proto::OP_BIT_SHR) {
    wrong = Overflows(op, scalar, x, y);
  } else {
    return;
  }
  auto branch = b_.create<ir::IfOp>(loc_, mlir::TypeRange(), wrong);
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getElseRegion().emplaceBlock());
  b_.create<ir::YieldOp>(loc_);
  b_.setInsertionPointToStart(&branch.getThenRegion().emplaceBlock());
  b_.create<ir::PrintOp>(loc_, Number(), mlir::ValueRange(Int32(op)), mlir::DenseI64ArrayAttr());
  b_.create<ir::YieldOp>(loc_);
}

// Whether shifting back gives another number: the sign counts as a bit.
mlir::Value Lowering::LosesBits(Scalar scalar, mlir::Value x, mlir::Value y) {
  mlir::Value shifted = EmitBinary(b_, loc_, proto::OP_SHL, scalar, x, y, emit_);
  mlir::Value back = EmitBinary(b_, loc_, proto::OP_SHR, scalar, shifted, y, emit_);
  return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ne, back, x);
}

// Whether the result of twice the width differs from that of the width itself.
mlir::Value Lowering::Overflows(proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y) {
  mlir::Type type = x.getType();
  mlir::Type wide = b_.getIntegerType(2 * type.getIntOrFloatBitWidth());
  const auto widen = [&](mlir::Value value) -> mlir::Value {
    if (IsSignedInt(scalar)) return b_.create<arith::ExtSIOp>(loc_, wide, value);
    return b_.create<arith::ExtUIOp>(loc_, wide, value);
  };
  mlir::Value a = widen(x), b = widen(y);
  mlir::Value exact;
  if (op == proto::OP_ADD) exact = b_.create<arith::AddIOp>(loc_, a, b);
  if (op == proto::OP_SUB) exact = b_.create<arith::SubIOp>(loc_, a, b);
  if (op == proto::OP_MUL) exact = b_.create<arith::MulIOp>(loc_, a, b);
  mlir::Value kept = widen(b_.create<arith::TruncIOp>(loc_, type, exact));
  return b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ne, kept, exact);
}

}  // namespace kiln
