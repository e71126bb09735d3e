#include "server/compiler/lowering/lower_checks.h"

#include "server/compiler/lowering/extents.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

void Assert(LoweringContext& c, mlir::Value condition, mlir::ValueRange values) {
  c.Create<ir::AssertOp>(condition, c.CurrentNode().number(), values, mlir::DenseI64ArrayAttr());
}

// Both conditions; the second alone if there is no first yet.
mlir::Value Both(LoweringContext& c, mlir::Value x, mlir::Value y) {
  return x ? c.Create<arith::AndIOp>(x, y).getResult() : y;
}

}  // namespace

// --- Indices -----------------------------------------------------------------------

void CheckBounds(LoweringContext& c, int storage, const Scalars& indices) {
  CheckBounds(c, storage, indices, llvm::to_vector(llvm::seq<int>(0, indices.size())));
}

void CheckBounds(LoweringContext& c, int storage, const Scalars& indices,
                 llvm::ArrayRef<int> axes) {
  if (indices.empty()) return;
  auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(c.storages.attributes[storage]);
  if (ndarray && ndarray.getClamp()) return;  // every index is fine
  Scalars values = indices;
  mlir::Value inside;
  for (auto [given, axis] : llvm::zip(indices, axes)) {
    mlir::Value extent = AxisExtent(c, storage, axis, c.b.getI32Type());
    // The message shows indices and extents, so both travel with the assert.
    values.push_back(extent);
    mlir::Value index = given;
    const int64_t offset = c.storages.AxisOffset(storage, axis);
    // The index counts from the field's offset, the extent from zero.
    if (offset != 0) index = c.Sub(index, c.Int32(offset));
    // One comparison of unsigned numbers: a negative index is beyond every extent.
    inside = Both(c, inside, c.Compare(arith::CmpIPredicate::ult, index, extent));
  }
  Assert(c, inside, values);
}

void CheckElement(LoweringContext& c, NodeIds indices, const std::vector<uint32_t>& shape) {
  Scalars values, extents;
  mlir::Value inside;
  for (size_t d = 0; d < shape.size(); ++d) {
    values.push_back(c.Convert(proto::I32, c.ScalarOf(indices[d]), c.values[indices[d]][0]));
    extents.push_back(c.Int32(shape[d]));
    inside = Both(c, inside, c.Compare(arith::CmpIPredicate::ult, values.back(), extents.back()));
  }
  values.append(extents);
  Assert(c, inside, values);
}

void CheckAppended(LoweringContext& c, const Scalars& indices, ir::TreeFieldAttr field,
                   mlir::Value number) {
  Scalars values = indices;
  values.append(indices);
  values.push_back(c.Int32(c.storages.TreeOf(field).getNode(field.getNode()).getNumCells()));
  // An append to a full list returns a negative number.
  Assert(c, c.Compare(arith::CmpIPredicate::sge, number, c.Int32(0)), values);
}

void CheckVisited(LoweringContext& c, int storage, ir::TreeFieldAttr field, const Scalars& at) {
  const int last = c.storages.last_sparse[storage];
  // Nothing in this kernel deactivates cells of the loop.
  if (last < 0) return;
  // The last sparse SNode above the loop's may have larger cells: its indices are coarser.
  ir::TreeAttr tree = c.storages.TreeOf(field);
  const int64_t node = tree.getLastSparse(field.getNode());
  Scalars above;
  for (auto [index, axis] : llvm::zip(at, field.getAxes().asArrayRef())) {
    const int64_t cells =
        tree.getAxisExtent(field.getNode(), axis) / tree.getAxisExtent(node, axis);
    above.push_back(cells == 1 ? index
                               : c.Create<arith::DivUIOp>(index, c.Int32(cells)).getResult());
  }
  mlir::Value active = c.Create<ir::IsActiveOp>(c.b.getI1Type(), last, above);
  Scalars values = at;
  for (auto [value, offset] : llvm::zip(values, field.getOffset().asArrayRef())) {
    if (offset != 0) value = c.Add(value, c.Int32(offset));
  }
  Assert(c, active, values);
}

// --- Arithmetic --------------------------------------------------------------------

namespace {

mlir::Value AsInt64(LoweringContext& c, Scalar scalar, mlir::Value x) {
  if (ScalarBits(scalar) == 64) return x;
  if (IsSignedInt(scalar)) return c.Create<arith::ExtSIOp>(c.b.getI64Type(), x);
  return c.Create<arith::ExtUIOp>(c.b.getI64Type(), x);
}

// Whether the result in twice the width differs from the one in the width itself.
mlir::Value Overflows(LoweringContext& c, proto::Op op, Scalar scalar, mlir::Value x,
                      mlir::Value y) {
  mlir::Type type = x.getType();
  // Twice the width holds every sum and product exactly.
  mlir::Type wide = c.b.getIntegerType(2 * type.getIntOrFloatBitWidth());
  const auto widen = [&](mlir::Value value) -> mlir::Value {
    if (IsSignedInt(scalar)) return c.Create<arith::ExtSIOp>(wide, value);
    return c.Create<arith::ExtUIOp>(wide, value);
  };
  mlir::Value a = widen(x), b = widen(y);
  mlir::Value exact = op == proto::OP_ADD   ? c.Add(a, b)
                      : op == proto::OP_SUB ? c.Sub(a, b)
                                            : c.Mul(a, b);
  mlir::Value kept = widen(c.Create<arith::TruncIOp>(type, exact));
  return c.Compare(arith::CmpIPredicate::ne, kept, exact);
}

// Whether shifting left and back gives another number: the sign counts as a bit.
mlir::Value LosesBits(LoweringContext& c, Scalar scalar, mlir::Value x, mlir::Value y) {
  mlir::Value shifted = EmitBinary(c.b, c.loc, proto::OP_SHL, scalar, x, y, c.emit);
  mlir::Value back = EmitBinary(c.b, c.loc, proto::OP_SHR, scalar, shifted, y, c.emit);
  return c.Compare(arith::CmpIPredicate::ne, back, x);
}

// Prints that the op overflows, and goes on. A print with this value at a node that is no PRINT
// means an overflow to the client.
void PrintOverflow(LoweringContext& c, proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y) {
  if (op == proto::OP_SHR || op == proto::OP_BIT_SHR) return;  // what they drop is meant to go
  mlir::Value wrong =
      op == proto::OP_SHL ? LosesBits(c, scalar, x, y) : Overflows(c, op, scalar, x, y);
  auto branch = c.Create<ir::IfOp>(mlir::TypeRange(), wrong);
  mlir::OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToStart(&branch.getElseRegion().emplaceBlock());
  c.Create<ir::YieldOp>();
  c.b.setInsertionPointToStart(&branch.getThenRegion().emplaceBlock());
  c.Create<ir::PrintOp>(c.CurrentNode().number(), mlir::ValueRange(c.Int32(op)),
                        mlir::DenseI64ArrayAttr());
  c.Create<ir::YieldOp>();
}

// Whether the operands are wrong; null: they never are.
mlir::Value IsWrong(LoweringContext& c, proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y) {
  const auto compare = [&](arith::CmpIPredicate predicate, uint64_t number) {
    return c.Compare(predicate, y, EmitConstant(c.b, c.loc, scalar, number));
  };
  switch (op) {
    case proto::OP_FLOORDIV:
    case proto::OP_MOD:
    case proto::OP_RAW_DIV:
    case proto::OP_RAW_MOD:
      return compare(arith::CmpIPredicate::eq, 0);
    case proto::OP_SHL:
    case proto::OP_SHR:
    case proto::OP_BIT_SHR:
      // Unsigned: a negative count is beyond every width, too.
      return compare(arith::CmpIPredicate::uge, ScalarBits(scalar));
    case proto::OP_POW:
      return IsSignedInt(scalar) ? compare(arith::CmpIPredicate::slt, 0) : mlir::Value();
    case proto::OP_ADD:
    case proto::OP_SUB:
    case proto::OP_MUL:
      // Unsigned arithmetic wraps on purpose (hashes, random numbers).
      return IsSignedInt(scalar) ? Overflows(c, op, scalar, x, y) : mlir::Value();
    default:
      return {};
  }
}

bool MayOverflow(proto::Op op) {
  return op == proto::OP_ADD || op == proto::OP_SUB || op == proto::OP_MUL || op == proto::OP_SHL ||
         op == proto::OP_SHR || op == proto::OP_BIT_SHR;
}

}  // namespace

void CheckArithmetic(LoweringContext& c, proto::Op op, Scalar scalar, mlir::Value x,
                     mlir::Value y) {
  // Floats have infinities and NaN instead, and ops on u1 are logic.
  if (IsFloat(scalar) || ScalarBits(scalar) < 8) return;
  const proto::OnOverflow on_overflow = c.unit.options().on_overflow();
  if (MayOverflow(op) && on_overflow == proto::OVERFLOW_WRAPS) return;
  if (MayOverflow(op) && on_overflow == proto::OVERFLOW_PRINTS) {
    return PrintOverflow(c, op, scalar, x, y);
  }
  mlir::Value wrong = IsWrong(c, op, scalar, x, y);
  if (!wrong) return;
  mlir::Value right = c.Create<arith::XOrIOp>(wrong, c.Int(c.b.getI1Type(), 1));
  // The client names the op in its message.
  mlir::Value number = c.Int32(op);
  Assert(c, right, {AsInt64(c, scalar, x), AsInt64(c, scalar, y), number});
}

}  // namespace kiln
