#include "server/compiler/lowering/elementwise.h"

#include "common/base/check.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_checks.h"
#include "server/compiler/lowering/lower_reductions.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

namespace {

// --- Elements ----------------------------------------------------------------------

// The check has seen that all operands but conditions are of one scalar, the op's.
mlir::Value Compute(LoweringContext& c, UnaryNode node, const Index& at) {
  const Scalar of = c.ScalarOf(node.value());
  return EmitUnary(c.b, c.loc, node.op(), of, c.tensors->Element(node.value(), at), c.emit);
}

mlir::Value Compute(LoweringContext& c, BinaryNode node, const Index& at) {
  const Scalar of = c.ScalarOf(node.left());
  mlir::Value x = c.tensors->Element(node.left(), at), y = c.tensors->Element(node.right(), at);
  // Before the op, whose result would be wrong already.
  if (c.emit.debug) CheckArithmetic(c, node.op(), of, x, y);
  return EmitBinary(c.b, c.loc, node.op(), of, x, y, c.emit);
}

mlir::Value Compute(LoweringContext& c, TernaryNode node, const Index& at) {
  mlir::Value condition = c.tensors->Element(node.condition(), at),
              x = c.tensors->Element(node.if_true(), at),
              y = c.tensors->Element(node.if_false(), at);
  return EmitTernary(c.b, c.loc, node.op(), c.ScalarOf(node.id()), condition, x, y, c.emit);
}

mlir::Value Compute(LoweringContext& c, CastToNode node, const Index& at) {
  const Scalar from = c.ScalarOf(node.value()), to = c.ScalarOf(node.id());
  mlir::Value value = c.tensors->Element(node.value(), at);
  if (node.op() == proto::OP_BIT_CAST) return EmitBitCast(c.b, c.loc, from, to, value);
  return c.Convert(to, from, value);
}

// Element (i, j) is element first + i * strides[0] + j * strides[1] of the operand.
mlir::Value Compute(LoweringContext& c, PickNode node, const Index& at) {
  const Type& type = c.TypeOf(node.id());
  const bool is_matrix = type.shape.size() == 2;
  const uint64_t columns = is_matrix ? type.shape[1] : 1;
  // A constant position costs nothing at run time.
  if (!at.value) {
    int64_t number = node.first() + static_cast<int64_t>(at.number / columns) * node.strides()[0];
    if (is_matrix) number += static_cast<int64_t>(at.number % columns) * node.strides()[1];
    return c.tensors->Element(node.tensor(), Index(static_cast<uint64_t>(number)));
  }
  mlir::Value row = at.value, column;
  if (is_matrix) {
    mlir::Value width = c.Int32(static_cast<int64_t>(columns));
    // A loop over rows and columns has them; otherwise they are divided out.
    row = at.row ? at.row : c.Create<mlir::arith::DivUIOp>(at.value, width).getResult();
    column = at.column ? at.column : c.Create<mlir::arith::RemUIOp>(at.value, width).getResult();
  }
  mlir::Value sum = c.Mul(row, c.Int32(node.strides()[0]));
  if (is_matrix) sum = c.Add(sum, c.Mul(column, c.Int32(node.strides()[1])));
  sum = c.Add(sum, c.Int32(node.first()));
  return c.tensors->Element(node.tensor(), Index(sum));
}

// --- Values --------------------------------------------------------------------------

Scalars LowerElements(LoweringContext& c, const NodeView& node) {
  const Type& type = c.TypeOf(node.id());
  if (IsLarge(type)) return {c.tensors->Make(node.id())};
  Scalars out;
  for (uint64_t i = 0; i < type.NumElements(); ++i) {
    out.push_back(ComputeElement(c, node.id(), Index(i)));
  }
  return out;
}

}  // namespace

mlir::Value ComputeElement(LoweringContext& c, NodeId id, const Index& at) {
  const proto::Node& node = c.node(id);
  switch (node.kind()) {
    case proto::UNARY:
      return Compute(c, UnaryNode(id, node), at);
    case proto::BINARY:
      return Compute(c, BinaryNode(id, node), at);
    case proto::TERNARY:
      return Compute(c, TernaryNode(id, node), at);
    case proto::CAST_TO:
      return Compute(c, CastToNode(id, node), at);
    case proto::PICK:
      return Compute(c, PickNode(id, node), at);
    default:
      KILN_CHECK(false) << "node " << id.number() << " is not element-wise";
      return {};
  }
}

Scalars Lower(LoweringContext& c, UnaryNode node) { return LowerElements(c, node); }

Scalars Lower(LoweringContext& c, BinaryNode node) {
  return node.op() == proto::OP_MATMUL ? LowerMatmul(c, node) : LowerElements(c, node);
}

Scalars Lower(LoweringContext& c, TernaryNode node) { return LowerElements(c, node); }

Scalars Lower(LoweringContext& c, CastToNode node) {
  // A cast of a struct is one to the same struct.
  if (c.TypeOf(node.id()).IsStruct()) return c.tensors->Value(node.value());
  return LowerElements(c, node);
}

Scalars Lower(LoweringContext& c, PickNode node) { return LowerElements(c, node); }

}  // namespace kiln
