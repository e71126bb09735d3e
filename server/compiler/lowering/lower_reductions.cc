#include "server/compiler/lowering/lower_reductions.h"

#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_checks.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

Scalars Lower(LoweringContext& c, ReduceNode node) {
  const NodeId tensor = node.tensor();
  const Type& type = c.TypeOf(tensor);
  const auto combine = [&](mlir::Value sum, mlir::Value next) {
    if (c.emit.debug) CheckArithmetic(c, node.op(), type.scalar, sum, next);
    return EmitBinary(c.b, c.loc, node.op(), type.scalar, sum, next, c.emit);
  };
  const uint64_t count = type.NumElements();
  c.tensors->Prepare(tensor);
  mlir::Value sum = c.tensors->Element(tensor, {});
  if (!IsLarge(type)) {
    for (uint64_t i = 1; i < count; ++i) sum = combine(sum, c.tensors->Element(tensor, Index(i)));
    return {sum};
  }
  // A loop that carries the sum. It begins with the first element, as not every op has an identity.
  mlir::Value upper = c.Int32(static_cast<int64_t>(count));
  auto loop =
      c.Create<ir::ForOp>(mlir::TypeRange(sum.getType()), c.Int32(1), upper, mlir::ValueRange(sum));
  mlir::OpBuilder::InsertionGuard guard(c.b);
  mlir::Block& body = loop.getBodyRegion().emplaceBlock();
  c.b.setInsertionPointToStart(&body);
  mlir::Value index = body.addArgument(c.b.getI32Type(), c.loc);
  mlir::Value carried = body.addArgument(sum.getType(), c.loc);
  mlir::Value next = combine(carried, c.tensors->Element(tensor, Index(index)));
  c.Create<ir::ContinueOp>(next);
  return {loop.getResult(0)};
}

namespace {

// Shapes and operands of a product.
struct Product {
  Product(LoweringContext& c, BinaryNode node)
      : left(node.left()), right(node.right()), scalar(c.ScalarOf(node.id())) {
    const Type &a = c.TypeOf(left), &b = c.TypeOf(right);
    inner = a.shape.back();
    rows = a.shape.size() == 2 ? a.shape[0] : 1;
    columns = b.shape.size() == 2 ? b.shape[1] : 1;
  }

  NodeId left, right;
  Scalar scalar;  // of the result
  uint32_t inner, rows, columns;
};

// Small matrices, unrolled.
Scalars MatmulOfScalars(LoweringContext& c, const Product& of) {
  const Scalars &a = c.values[of.left], &b = c.values[of.right];
  const Scalar left = c.ScalarOf(of.left), right = c.ScalarOf(of.right);
  Scalars out;
  for (uint32_t row = 0; row < of.rows; ++row) {
    for (uint32_t column = 0; column < of.columns; ++column) {
      mlir::Value sum;
      for (uint32_t k = 0; k < of.inner; ++k) {
        mlir::Value product = EmitBinary(
            c.b, c.loc, proto::OP_MUL, of.scalar, c.Convert(of.scalar, left, a[row * of.inner + k]),
            c.Convert(of.scalar, right, b[k * of.columns + column]), c.emit);
        sum = k == 0 ? product
                     : EmitBinary(c.b, c.loc, proto::OP_ADD, of.scalar, sum, product, c.emit);
      }
      out.push_back(sum);
    }
  }
  return out;
}

// Reads an element of an operand, converted to the result's scalar.
using Reader = std::function<mlir::Value(mlir::Value)>;

// Every element is read many times, so only what is in memory already stays deferred.
Reader ReaderOf(LoweringContext& c, NodeId id, Scalar to) {
  const proto::NodeKind kind = c.node(id).kind();
  const Scalar from = c.ScalarOf(id);
  if (c.tensors->IsDeferred(id) && (kind == proto::LOAD || kind == proto::PARAM)) {
    return [&c, id, from, to](mlir::Value at) {
      return c.Convert(to, from, c.tensors->Element(id, Index(at)));
    };
  }
  mlir::Value array = c.tensors->InMemory(id);
  return [&c, array, from, to](mlir::Value at) {
    return c.Convert(to, from, LoadFrom(c, array, Index(at)));
  };
}

// Large matrices, a row of the result at a time:
//
//   for i:
//     for j: c[i, j] = a[i, 0] * b[0, j]
//     for k from 1: for j: c[i, j] += a[i, k] * b[k, j]
//
// The innermost loops run along rows, so they vectorise, and sums are in the order of k.
mlir::Value MatmulInLoops(LoweringContext& c, const Product& of) {
  const Reader left = ReaderOf(c, of.left, of.scalar), right = ReaderOf(c, of.right, of.scalar);
  const auto linear = [&](mlir::Value row, uint32_t width, mlir::Value column) {
    return c.Add(c.Mul(row, c.Int32(width)), column);
  };
  const auto product = [&](mlir::Value x, mlir::Value k, mlir::Value column) {
    return EmitBinary(c.b, c.loc, proto::OP_MUL, of.scalar, x, right(linear(k, of.columns, column)),
                      c.emit);
  };
  mlir::Value array = NewArray(c, of.scalar, uint64_t{of.rows} * of.columns);
  const auto target = [&](mlir::Value row, mlir::Value column) {
    return ElementOf(c, array, Index(linear(row, of.columns, column)));
  };
  Repeat(c, of.rows, [&](const Index& row) {
    mlir::Value first = left(linear(row.value, of.inner, c.Int32(0)));
    Repeat(c, of.columns, [&](const Index& column) {
      mlir::Value value = product(first, c.Int32(0), column.value);
      c.Create<ir::StoreOp>(value, target(row.value, column.value));
    });
    mlir::OpBuilder::InsertionGuard guard(c.b);
    mlir::Value upper = c.Int32(of.inner);
    mlir::Value k = BeginFor(c, c.Int32(1), upper);
    mlir::Value x = left(linear(row.value, of.inner, k));
    Repeat(c, of.columns, [&](const Index& column) {
      mlir::Value address = target(row.value, column.value);
      mlir::Value old = c.Create<ir::LoadOp>(c.ValueTypeOf(of.scalar), address);
      mlir::Value sum = EmitBinary(c.b, c.loc, proto::OP_ADD, of.scalar, old,
                                   product(x, k, column.value), c.emit);
      c.Create<ir::StoreOp>(sum, address);
    });
    c.Create<ir::ContinueOp>();
  });
  return array;
}

}  // namespace

Scalars LowerMatmul(LoweringContext& c, BinaryNode node) {
  const Product product(c, node);
  const Type& type = c.TypeOf(node.id());
  if (!IsLarge(type) && !IsLarge(c.TypeOf(product.left)) && !IsLarge(c.TypeOf(product.right))) {
    return MatmulOfScalars(c, product);
  }
  mlir::Value array = MatmulInLoops(c, product);
  if (IsLarge(type)) return {array};
  // A small product of large matrices: its elements are scalars again.
  Scalars out;
  for (uint64_t i = 0; i < type.NumElements(); ++i) out.push_back(LoadFrom(c, array, Index(i)));
  return out;
}

}  // namespace kiln
