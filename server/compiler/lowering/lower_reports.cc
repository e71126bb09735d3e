#include "server/compiler/lowering/lower_reports.h"

#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_functions.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

namespace {

// The pieces of values, and how many scalars each has; null: one each.
struct Reported {
  Scalars pieces;
  mlir::DenseI64ArrayAttr counts;
};

// Without large tensors no counts are needed: each piece is a scalar.
Reported AllPieces(LoweringContext& c, NodeIds values) {
  Reported out;
  llvm::SmallVector<int64_t> counts;
  bool any_large = false;
  for (NodeId id : values) {
    out.pieces.append(c.tensors->Value(id));
    ForEachTensor(c.types, c.TypeIdOf(id), [&](const Type& type) {
      const auto count = static_cast<int64_t>(type.NumElements());
      any_large |= IsLarge(type);
      counts.append(IsLarge(type) ? 1 : count, IsLarge(type) ? count : 1);
    });
  }
  if (any_large) out.counts = c.b.getDenseI64ArrayAttr(counts);
  return out;
}

// Each scalar of the results has a slot, in order. The elements of a large tensor take consecutive
// slots, so a loop with an index into them returns it.
void ReturnFromKernel(LoweringContext& c, ReturnNode node) {
  uint64_t slot = 0;
  for (NodeId id : node.values()) {
    const Scalars& pieces = c.tensors->Value(id);
    const auto* piece = pieces.begin();
    ForEachTensor(c.types, c.TypeIdOf(id), [&](const Type& type) {
      const uint64_t count = type.NumElements();
      if (IsLarge(type)) {
        mlir::Value array = *piece++;
        Repeat(c, count, [&](const Index& at) {
          c.Create<ir::ResultOp>(slot, LoadFrom(c, array, at), at.value);
        });
        slot += count;
        return;
      }
      for (uint64_t e = 0; e < count; ++e) c.Create<ir::ResultOp>(slot++, *piece++);
    });
  }
  c.Create<ir::ReturnOp>();
}

}  // namespace

void Lower(LoweringContext& c, ReturnNode node) {
  if (c.IsBody()) {
    ReturnFromKernel(c, node);
  } else {
    ReturnFromFunction(c, node);
  }
}

void Lower(LoweringContext& c, PrintNode node) {
  const Reported values = AllPieces(c, node.values());
  c.Create<ir::PrintOp>(c.CurrentNode().number(), values.pieces, values.counts);
}

void Lower(LoweringContext& c, AssertNode node) {
  if (!c.unit.options().debug()) return;
  mlir::Value condition =
      c.Convert(proto::U1, c.ScalarOf(node.condition()), c.values[node.condition()][0]);
  const Reported values = AllPieces(c, node.values());
  c.Create<ir::AssertOp>(condition, c.CurrentNode().number(), values.pieces, values.counts);
}

}  // namespace kiln
