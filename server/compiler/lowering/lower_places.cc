#include "server/compiler/lowering/lower_places.h"

#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/lower_checks.h"
#include "server/compiler/lowering/lower_memory.h"
#include "server/compiler/lowering/lower_values.h"
#include "server/compiler/lowering/pieces.h"
#include "server/compiler/lowering/quant_words.h"

namespace kiln {

namespace {

// The node whose member, or member's member, an address is.
NodeId OutermostOf(const LoweringContext& c, NodeId id) {
  while (c.node(id).kind() == proto::MEMBER) id = MemberNode(id, c.node(id)).base();
  return id;
}

// Makes arrays for the tensors of a type whose scalars begin at `first`: for the large ones, or for
// all.
void AddArrays(LoweringContext& c, TypeId id, uint64_t first, bool all, Root* root) {
  const Type& type = c.types[id];
  if (type.IsTensor()) {
    if (!all && !IsLarge(type)) return;
    const uint64_t count = type.NumElements();
    root->arrays.push_back({first, count, NewArray(c, type.scalar, count)});
    return;
  }
  for (const auto& [name, member] : type.members) {
    AddArrays(c, member, first, all, root);
    first += c.types.NumScalars(member);
  }
}

// Makes a cell for each scalar that is in none of the root's arrays.
void AddCells(LoweringContext& c, bool zeroed, Root* root) {
  const uint64_t count = root->scalars->size();
  root->cells.resize(count);
  auto array = root->arrays.begin();
  for (uint64_t i = 0; i < count; ++i) {
    if (array != root->arrays.end() && i == array->first) {
      i += array++->count - 1;
      continue;
    }
    const Scalar scalar = (*root->scalars)[i];
    root->cells[i] = c.Create<ir::LocalOp>(c.AddressTypeOf(scalar));
    if (zeroed) {
      c.Create<ir::StoreOp>(EmitConstant(c.b, c.loc, scalar, 0), root->cells[i]);
    }
  }
}

}  // namespace

void FindDynamicLocals(LoweringContext& c, const std::vector<NodeId>& nodes) {
  // The local is lowered before its elements: what they need must be known then.
  for (NodeId id : nodes) {
    if (c.node(id).kind() != proto::ELEMENT) continue;
    const ElementNode element(id, c.node(id));
    if (!AreConstant(c, element.indices())) c.dynamic[OutermostOf(c, element.base())] = true;
  }
}

void Lower(LoweringContext& c, LocalNode node) {
  Root* root = c.NewRoot(node.type());
  AddArrays(c, node.type(), 0, c.dynamic[node.id()], root);
  const bool zeroed = !node.initial();
  // Stores of constants to cells vanish when locals become values; arrays are zeroed at once,
  // below.
  AddCells(c, zeroed, root);
  const Place whole{root, 0, root->scalars->size(), {}};
  c.places[node.id()] = whole;
  if (!zeroed) return StoreTo(c, whole, node.type(), node.initial());
  for (const Root::Array& array : root->arrays) {
    c.Create<ir::ZeroOp>(array.count, array.address);
  }
}

void Lower(LoweringContext& c, SharedArrayNode node) {
  Root* root = c.NewRoot(node.type());
  const Type& type = c.types[node.type()];
  const uint64_t count = type.NumElements();
  root->cells.resize(count);
  root->arrays.push_back(
      {0, count,
       c.Create<ir::SharedArrayOp>(c.AddressTypeOf(type.scalar), static_cast<int64_t>(count))});
  c.places[node.id()] = {root, 0, count, {}};
}

void Lower(LoweringContext& c, ElementNode node) {
  Place place = c.places[node.base()];
  const Index at = LinearIndex(c, node.indices(), c.TypeOf(node.base()).shape);
  if (at.value) {
    // Which scalar it is shows at run time: an access to the place chooses it.
    place.index = at.value;
  } else {
    const uint64_t number = place.first + std::min(at.number, place.count - 1);
    place = place.root->IsJoin() ? place.root->parts[number] : Place{place.root, number, 1, {}};
  }
  c.places[node.id()] = place;
}

void Lower(LoweringContext& c, MemberNode node) {
  Place place = c.places[node.base()];
  const Type& type = c.TypeOf(node.base());
  for (uint64_t m = 0; m < node.member(); ++m) {
    place.first += c.types.NumScalars(type.members[m].second);
  }
  place.count = c.types.NumScalars(node.type());
  c.places[node.id()] = place;
}

void Lower(LoweringContext& c, GlobalNode node) {
  Root* root = c.NewRoot(node.type());
  root->storage = c.storages.Of(node.param());
  root->indices = IndicesOf(c, node.indices());
  // Checks are of the user's indices; EnterWord replaces them by those of words.
  if (c.ChecksBounds()) CheckBounds(c, root->storage, root->indices);
  EnterWord(c, node.param(), root);
  c.places[node.id()] = {root, 0, root->scalars->size(), {}};
}

void Lower(LoweringContext& c, JoinNode node) {
  Root* root = c.NewRoot(node.type());
  for (NodeId part : node.parts()) root->parts.push_back(c.places[part]);
  c.places[node.id()] = {root, 0, root->scalars->size(), {}};
}

}  // namespace kiln
