#include "server/compiler/lowering/lower_snodes.h"

#include "server/compiler/lowering/lower_checks.h"
#include "server/compiler/lowering/lower_values.h"
#include "server/compiler/lowering/quant_words.h"

namespace kiln {

namespace {

// An SNode and the cell, or the container, that a node names.
struct Cell {
  int storage;
  ir::TreeFieldAttr field;
  Scalars indices;
};

// Reads the indices and, where bounds are checked, asserts them. They are all of the SNode's, or
// those above: fewer.
template <typename Node>
Cell CellOf(LoweringContext& c, const Node& node) {
  const int storage = c.storages.Of(node.param());
  auto field = llvm::cast<ir::TreeFieldAttr>(c.storages.attributes[storage]);
  Cell cell{storage, field, IndicesOf(c, node.indices())};
  if (!c.ChecksBounds()) return cell;
  if (cell.indices.size() < static_cast<size_t>(field.getNumAxes())) {
    CheckBounds(c, storage, cell.indices, field.getIndicesAbove(c.storages.TreeOf(field)));
  } else {
    CheckBounds(c, storage, cell.indices);
  }
  return cell;
}

}  // namespace

void Lower(LoweringContext& c, SNodeActivateNode node) {
  const Cell cell = CellOf(c, node);
  c.Create<ir::ActivateOp>(cell.storage, cell.indices);
}

void Lower(LoweringContext& c, SNodeDeactivateNode node) {
  const Cell cell = CellOf(c, node);
  c.Create<ir::DeactivateOp>(cell.storage, cell.indices);
}

Scalars Lower(LoweringContext& c, SNodeIsActiveNode node) {
  const Cell cell = CellOf(c, node);
  return {c.Create<ir::IsActiveOp>(c.b.getI1Type(), cell.storage, cell.indices)};
}

Scalars Lower(LoweringContext& c, SNodeLengthNode node) {
  const Cell cell = CellOf(c, node);
  return {c.Create<ir::LengthOp>(c.b.getI32Type(), cell.storage, cell.indices)};
}

Scalars Lower(LoweringContext& c, SNodeAppendNode node) {
  const Cell cell = CellOf(c, node);
  mlir::Value number = c.Create<ir::AppendOp>(c.b.getI32Type(), cell.storage, cell.indices);
  if (c.unit.options().debug()) CheckAppended(c, cell.indices, cell.field, number);
  return {number};
}

// As a number, for any field with elements.
Scalars Lower(LoweringContext& c, SNodeAddressNode node) {
  Root root;
  root.storage = c.storages.Of(node.param());
  root.indices = IndicesOf(c, node.indices());
  if (c.ChecksBounds()) CheckBounds(c, root.storage, root.indices);
  EnterWord(c, node.param(), &root);
  if (root.InWord()) {
    return {c.Create<ir::AddressOfOp>(c.b.getI64Type(), WordAddress(c, root))};
  }
  const Scalar scalar = c.StorageOf(node.param()).element().scalar();
  mlir::Value address = c.Create<ir::GlobalOp>(c.AddressTypeOf(scalar), root.storage,
                                               /*component=*/0, root.indices);
  return {c.Create<ir::AddressOfOp>(c.b.getI64Type(), address)};
}

}  // namespace kiln
