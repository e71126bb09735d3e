#include "server/compiler/lowering/arrays.h"

#include "server/compiler/lowering/quant_writes.h"

namespace kiln {

namespace {

// Of the 8 MiB of a thread's stack.
// Half: the rest is for calls, the runtime and other variables. Beyond the end of a stack the
// process dies.
constexpr uint64_t kMostArrayBytes = uint64_t{4} << 20;

}  // namespace

mlir::Value NewArray(LoweringContext& c, Scalar scalar, uint64_t count) {
  const uint64_t before = c.array_bytes;  // reported once, by the array that exceeds the limit
  c.array_bytes += ScalarBytes(scalar) * count;
  if (before <= kMostArrayBytes && c.array_bytes > kMostArrayBytes) {
    c.Unsupported("a kernel with more than 4 MiB of matrices that are variables or results");
  }
  return c.Create<ir::LocalArrayOp>(c.AddressTypeOf(scalar), static_cast<int64_t>(count));
}

mlir::Value ElementOf(LoweringContext& c, mlir::Value array, const Index& at) {
  mlir::Value index = at.value ? at.value : c.Int32(static_cast<int64_t>(at.number));
  return c.Create<ir::ElementOp>(array.getType(), array, index);
}

mlir::Value LoadFrom(LoweringContext& c, mlir::Value array, const Index& at) {
  mlir::Type type = llvm::cast<ir::AddrType>(array.getType()).getPointee();
  return c.Create<ir::LoadOp>(type, ElementOf(c, array, at));
}

void StoreInto(LoweringContext& c, mlir::Value array, const Index& at, mlir::Value value) {
  c.Create<ir::StoreOp>(value, ElementOf(c, array, at));
}

mlir::Value ArrayOf(LoweringContext& c, Scalar scalar, const Scalars& elements) {
  mlir::Value array = NewArray(c, scalar, elements.size());
  for (uint64_t i = 0; i < elements.size(); ++i) StoreInto(c, array, Index(i), elements[i]);
  return array;
}

mlir::Value BeginFor(LoweringContext& c, mlir::Value lower, mlir::Value upper) {
  auto loop = c.Create<ir::ForOp>(mlir::TypeRange(), lower, upper, mlir::ValueRange());
  mlir::Block& body = loop.getBodyRegion().emplaceBlock();
  c.b.setInsertionPointToStart(&body);
  return body.addArgument(lower.getType(), c.loc);
}

void Repeat(LoweringContext& c, uint64_t count, llvm::function_ref<void(const Index&)> body) {
  // A store that waited across the loop would be made inside it, once for each iteration.
  c.writes->Flush();
  mlir::OpBuilder::InsertionGuard guard(c.b);
  mlir::Value upper = c.Int32(static_cast<int64_t>(count));
  body(Index(BeginFor(c, c.Int32(0), upper)));
  c.Create<ir::ContinueOp>();
}

// A nest has the row and the column at hand, where one loop would have to divide its index.
void RepeatOver(LoweringContext& c, const Type& type, bool by_rows,
                llvm::function_ref<void(const Index&)> body) {
  if (!by_rows || type.shape.size() < 2) return Repeat(c, type.NumElements(), body);
  Repeat(c, type.shape[0], [&](const Index& row) {
    mlir::Value first = c.Mul(row.value, c.Int32(type.shape[1]));
    Repeat(c, type.shape[1], [&](const Index& column) {
      body(Index(c.Add(first, column.value), row.value, column.value));
    });
  });
}

}  // namespace kiln
