#include "server/compiler/lowering/lower_values.h"

#include "common/language/simt_ops.h"
#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/extents.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_checks.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

namespace {

// A run-time index selects one of up to this many elements by comparisons. With more, storing all
// elements and loading one takes less time.
constexpr size_t kMaxSelected = 16;

}  // namespace

// --- Indices -----------------------------------------------------------------------

bool AreConstant(const LoweringContext& c, NodeIds indices) {
  return llvm::all_of(indices, [&](NodeId id) { return c.node(id).kind() == proto::CONST; });
}

Index LinearIndex(LoweringContext& c, NodeIds indices, const std::vector<uint32_t>& shape) {
  Index at;
  if (AreConstant(c, indices)) {
    for (size_t d = 0; d < shape.size(); ++d) {
      // Row-major, as tensors are stored.
      at.number = at.number * shape[d] + ConstNode(indices[d], c.node(indices[d])).bits();
    }
    return at;
  }
  // Constants were checked with the unit.
  if (c.ChecksBounds()) CheckElement(c, indices, shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    mlir::Value index = c.Convert(proto::I32, c.ScalarOf(indices[d]), c.values[indices[d]][0]);
    at.value = d == 0 ? index : c.Add(c.Mul(at.value, c.Int32(shape[d])), index);
  }
  return at;
}

Scalars IndicesOf(LoweringContext& c, NodeIds nodes) {
  Scalars indices;
  for (NodeId id : nodes) {
    indices.push_back(c.Convert(proto::I32, c.ScalarOf(id), c.values[id][0]));
  }
  return indices;
}

// --- Values ------------------------------------------------------------------------

Scalars Lower(LoweringContext& c, ConstNode node) {
  return {EmitConstant(c.b, c.loc, c.ScalarOf(node.id()), node.bits())};
}

Scalars Lower(LoweringContext& c, ParamNode node) {
  // Functions take values from their callers; only the kernel's body reads the launch's arguments.
  if (!c.IsBody()) return c.arguments[node.param()];
  Scalars out;
  uint64_t slot = c.FirstSlot(node.param());
  ForEachTensor(c.types, node.type(), [&](const Type& type) {
    const uint64_t count = type.NumElements();
    const auto argument = [&](uint64_t of, mlir::Value index) -> mlir::Value {
      return c.Create<ir::ArgumentOp>(c.ValueTypeOf(type.scalar), of, index);
    };
    if (IsLarge(type)) {
      mlir::Value array = out.emplace_back(NewArray(c, type.scalar, count));
      Repeat(c, count, [&](const Index& at) { StoreInto(c, array, at, argument(slot, at.value)); });
    } else {
      for (uint64_t i = 0; i < count; ++i) out.push_back(argument(slot + i, {}));
    }
    slot += count;
  });
  return out;
}

Scalars Lower(LoweringContext& c, MakeTensorNode node) {
  const Type& type = c.TypeOf(node.id());
  Scalars out;
  for (NodeId element : node.elements()) {
    out.push_back(c.Convert(type.scalar, c.ScalarOf(element), c.values[element][0]));
  }
  if (!IsLarge(type)) return out;
  return {ArrayOf(c, type.scalar, out)};
}

Scalars Lower(LoweringContext& c, MakeStructNode node) {
  Scalars out;
  for (NodeId member : node.members()) out.append(c.tensors->Value(member));
  return out;
}

Scalars Lower(LoweringContext& c, GetMemberNode node) {
  const Type& type = c.TypeOf(node.value());
  uint64_t first = 0;
  // A struct is the pieces of its members one after the other.
  for (uint64_t m = 0; m < node.member(); ++m) first += NumPieces(c.types, type.members[m].second);
  const Scalars& all = c.tensors->Value(node.value());
  return Scalars(all.begin() + first, all.begin() + first + NumPieces(c.types, node.type()));
}

Scalars Lower(LoweringContext& c, ExtractNode node) {
  const Type& type = c.TypeOf(node.tensor());
  Index at = LinearIndex(c, node.indices(), type.shape);
  at.number = std::min<uint64_t>(at.number, type.NumElements() - 1);
  if (IsLarge(type)) return {c.tensors->Element(node.tensor(), at)};
  const Scalars& all = c.values[node.tensor()];
  if (!at.value) return {all[at.number]};
  if (all.size() > kMaxSelected) return {LoadFrom(c, c.tensors->InMemory(node.tensor()), at)};
  // An index beyond the tensor selects the first element: a defined result without a trap.
  mlir::Value chosen = all[0];
  for (size_t i = 1; i < all.size(); ++i) chosen = c.Select(c.Is(at.value, i), all[i], chosen);
  return {chosen};
}

Scalars Lower(LoweringContext& c, RandomNode node) {
  return {c.Create<ir::RandomOp>(c.ValueTypeOf(c.ScalarOf(node.id())))};
}

Scalars Lower(LoweringContext& c, SimtNode node) {
  const SimtFacts& facts = kSimtOps[node.operation()];
  llvm::SmallVector<mlir::Value, 3> values;
  for (NodeId value : node.values()) values.push_back(c.values[value][0]);
  const bool has_value = facts.result != proto::SCALAR_NONE;
  const mlir::Type type = has_value ? c.ValueTypeOf(facts.result) : mlir::Type();
  auto op = c.Create<ir::SimtOp>(type, c.b.getStringAttr(facts.name), values);
  return has_value ? Scalars{op.getResult()} : Scalars{};
}

Scalars Lower(LoweringContext& c, ShapeNode node) {
  const int storage = c.storages.Of(node.param());
  return {AxisExtent(c, storage, node.axis(), c.ValueTypeOf(c.ScalarOf(node.id())))};
}

Scalars Lower(LoweringContext& c, AssumeInRangeNode node) { return c.tensors->Value(node.value()); }

Scalars Lower(LoweringContext& c, LoopUniqueNode node) { return c.tensors->Value(node.value()); }

Scalars Lower(LoweringContext& c, StopGradientNode node) {
  Scalars values = c.tensors->Value(node.value());
  if (c.unit.kernel().autodiff_size() == 0) return values;
  for (mlir::Value& value : values) value = c.Create<ir::StopGradientOp>(value.getType(), value);
  return values;
}

}  // namespace kiln
