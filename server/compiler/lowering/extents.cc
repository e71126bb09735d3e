#include "server/compiler/lowering/extents.h"

namespace kiln {

Scalars DigitExtents(LoweringContext& c, int storage, mlir::Type type) {
  auto dense = llvm::cast<ir::DenseAttr>(c.storages.attributes[storage]);
  Scalars extents;
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    const int64_t extent = dense.getDigitExtent(d);
    if (extent == 0) {
      extents.push_back(c.Create<ir::OuterExtentOp>(type, storage));
    } else {
      extents.push_back(c.Int(type, extent));
    }
  }
  return extents;
}

// The attributes of a quant array count words, and users count cells: a word has CellsInWord of
// them.
mlir::Value AxisExtent(LoweringContext& c, int storage, int64_t axis, mlir::Type type) {
  const mlir::Attribute attribute = c.storages.attributes[storage];
  if (auto field = llvm::dyn_cast<ir::TreeFieldAttr>(attribute)) {
    ir::TreeAttr tree = c.storages.TreeOf(field);
    return c.Int(type, tree.getAxisExtent(field.getNode(), field.getAxis(axis)) *
                           c.storages.CellsInWord(storage, axis));
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(attribute);
  if (!dense) return c.Create<ir::ExtentOp>(type, storage, axis);
  mlir::Value extent;
  const Scalars extents = DigitExtents(c, storage, type);
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    if (dense.getDigitAxis(d) == axis) extent = extent ? c.Mul(extent, extents[d]) : extents[d];
  }
  if (!extent) extent = c.Int(type, 1);
  const int64_t cells = c.storages.CellsInWord(storage, axis);
  return cells == 1 ? extent : c.Mul(extent, c.Int(type, cells));
}

}  // namespace kiln
