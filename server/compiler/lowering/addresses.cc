#include "server/compiler/lowering/addresses.h"

#include "common/base/check.h"

namespace kiln {

namespace {

mlir::Value StorageAddress(LoweringContext& c, const Root& root, uint64_t component) {
  return c.Create<ir::GlobalOp>(c.AddressTypeOf((*root.scalars)[component]), root.storage,
                                component, root.indices, c.storages.no_activate[root.storage]);
}

// The address that the index chooses, one comparison per component.
mlir::Value SelectedAddress(LoweringContext& c, const Place& place) {
  mlir::Value chosen = StorageAddress(c, *place.root, place.first);
  for (uint64_t i = 1; i < place.count; ++i) {
    mlir::Value here = c.Is(place.index, i);
    chosen = c.Select(here, StorageAddress(c, *place.root, place.first + i), chosen);
  }
  return chosen;
}

// The address of the first scalar if the others follow it in memory, else null. Locals that are
// indexed at run time always have an array.
mlir::Value FirstAddress(LoweringContext& c, const Place& place) {
  const Root& root = *place.root;
  if (root.InStorage()) {
    if (!c.storages.IsContiguous(root.storage, place.first, place.count)) return {};
    return StorageAddress(c, root, place.first);
  }
  for (const Root::Array& array : root.arrays) {
    if (array.first == place.first) return array.address;
  }
  KILN_CHECK(false) << "a run-time index into a local without an array";
  return {};
}

// The address of the scalar that the place's index chooses: an element of an array if the scalars
// are consecutive, else a kiln.component. Scalars with strides of their own take a chain of
// selects: the distance between two of them differs from cell to cell.
mlir::Value IndexedAddress(LoweringContext& c, const Place& place) {
  const Root& root = *place.root;
  if (mlir::Value first = FirstAddress(c, place)) {
    return c.Create<ir::ElementOp>(first.getType(), first, place.index);
  }
  if (c.storages.HasUnevenStrides(root.storage, place.first, place.count)) {
    return SelectedAddress(c, place);
  }
  return c.Create<ir::ComponentOp>(c.AddressTypeOf((*root.scalars)[place.first]), root.storage,
                                   place.first, place.count, place.index, root.indices);
}

// The branches for the numbers [first, first + count).
mlir::Value UseOneFrom(LoweringContext& c, mlir::Value index, uint64_t first, uint64_t count,
                       mlir::Type type, llvm::function_ref<mlir::Value(uint64_t)> use) {
  if (count == 1) return use(first);
  const uint64_t half = count / 2;
  mlir::Value low = c.Compare(mlir::arith::CmpIPredicate::ult, index,
                              c.Int32(static_cast<int64_t>(first + half)));
  auto branch = c.Create<ir::IfOp>(type ? mlir::TypeRange(type) : mlir::TypeRange(), low);
  mlir::OpBuilder::InsertionGuard guard(c.b);
  const auto arm = [&](mlir::Region& region, uint64_t from, uint64_t numbers) {
    c.b.setInsertionPointToStart(&region.emplaceBlock());
    mlir::Value value = UseOneFrom(c, index, from, numbers, type, use);
    c.Create<ir::YieldOp>(value ? mlir::ValueRange(value) : mlir::ValueRange());
  };
  arm(branch.getThenRegion(), first, half);
  arm(branch.getElseRegion(), first + half, count - half);
  return type ? branch.getResult(0) : mlir::Value();
}

}  // namespace

mlir::Value AddressOf(LoweringContext& c, const Place& place, uint64_t scalar) {
  if (place.index) return IndexedAddress(c, place);
  const Root& root = *place.root;
  const uint64_t at = place.first + scalar;
  if (root.InStorage()) return StorageAddress(c, root, at);
  if (root.cells[at]) return root.cells[at];
  for (const Root::Array& array : root.arrays) {
    if (at < array.first || at >= array.first + array.count) continue;
    return c.Create<ir::ElementOp>(array.address.getType(), array.address,
                                   c.Int32(static_cast<int64_t>(at - array.first)));
  }
  KILN_CHECK(false) << "a scalar of a local without a cell";
  return {};
}

bool IsScattered(const LoweringContext& c, const Place& place) {
  const int storage = place.root->storage;
  return place.index && place.root->InStorage() &&
         llvm::isa<ir::TreeFieldAttr>(c.storages.attributes[storage]) &&
         !c.storages.IsContiguous(storage, place.first, place.count);
}

mlir::Value UseAddress(LoweringContext& c, const Place& place, const Index& at, mlir::Type type,
                       llvm::function_ref<mlir::Value(mlir::Value)> use) {
  Place element = place;
  if (at.value) element.index = at.value;
  if (!IsScattered(c, element)) return use(AddressOf(c, element, at.number));
  // Only the chosen component may become active.
  return UseOneOf(c, element.index, place.count, type, [&](uint64_t number) {
    return use(StorageAddress(c, *place.root, place.first + number));
  });
}

mlir::Value UseOneOf(LoweringContext& c, mlir::Value index, uint64_t count, mlir::Type type,
                     llvm::function_ref<mlir::Value(uint64_t)> use) {
  return UseOneFrom(c, index, 0, count, type, use);
}

}  // namespace kiln
