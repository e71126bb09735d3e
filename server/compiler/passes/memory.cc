#include "server/compiler/passes/memory.h"

#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {

namespace {

// `component` -1: any of the cell's.
MemoryClass StorageClass(mlir::Operation* access, int64_t number, int64_t component) {
  auto kernel = access->getParentOfType<ir::KernelOp>();
  mlir::Attribute storage = kernel.getStorages()[number];
  int64_t alias = 0;
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(storage)) alias = dense.getAlias();
  if (auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storage)) alias = ndarray.getAlias();
  if (auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(storage)) alias = tree.getAlias();
  // Storages that may overlap are one class, whatever their components.
  if (alias != 0) return {MemoryClass::kAliasSet, alias};
  return {MemoryClass::kStorage, number, component};
}

// An index as a value plus a number. Front ends write stencils as x[i + 1, j - 2], so more forms
// than these two are rare.
std::pair<mlir::Value, int64_t> SplitIndex(mlir::Value index) {
  if (const auto number = ConstantOf(index)) return {{}, *number};
  if (auto add = index.getDefiningOp<mlir::arith::AddIOp>()) {
    if (const auto number = ConstantOf(add.getRhs())) return {add.getLhs(), *number};
  }
  if (auto sub = index.getDefiningOp<mlir::arith::SubIOp>()) {
    if (const auto number = ConstantOf(sub.getRhs())) return {sub.getLhs(), -*number};
  }
  return {index, 0};
}

}  // namespace

MemoryClass ClassOf(mlir::Value address) {
  // An element of a component's array may be of any component: a run-time index selects it.
  const mlir::Value array = ArrayOf(address);
  const bool element = array != address;
  mlir::Operation* op = array.getDefiningOp();
  // An address that a function was given: it may be anything.
  if (!op) return {};
  if (llvm::isa<ir::LocalOp, ir::LocalArrayOp>(op)) {
    // Each local is a class of its own.
    return {MemoryClass::kLocal, static_cast<int64_t>(reinterpret_cast<intptr_t>(op))};
  }
  if (auto temporary = llvm::dyn_cast<ir::TemporaryOp>(op)) {
    return {MemoryClass::kTemporary, static_cast<int64_t>(temporary.getOffset())};
  }
  if (auto global = llvm::dyn_cast<ir::GlobalOp>(op)) {
    return StorageClass(op, global.getStorage(), element ? -1 : global.getComponent());
  }
  if (auto component = llvm::dyn_cast<ir::ComponentOp>(op)) {
    return StorageClass(op, component.getStorage(), -1);
  }
  if (auto select = llvm::dyn_cast<mlir::arith::SelectOp>(op)) {
    // A class that contains both.
    MemoryClass a = ClassOf(select.getTrueValue());
    const MemoryClass b = ClassOf(select.getFalseValue());
    if (a.kind != b.kind || a.id != b.id) return {};
    if (a.component != b.component) a.component = -1;
    return a;
  }
  return {};
}

bool MayOverlap(const MemoryClass& a, const MemoryClass& b) {
  if (a.kind == MemoryClass::kUnknown || b.kind == MemoryClass::kUnknown) return true;
  // Different classes are different memory: locals, temporaries and storages never overlap.
  if (a.kind != b.kind || a.id != b.id) return false;
  return a.component == b.component || a.component < 0 || b.component < 0;
}

// An axis without digits or levels has one cell for all indices, and clamping maps several indices
// to one cell.
bool Distinguishes(ir::KernelOp kernel, int64_t number, int64_t component, int64_t axis) {
  mlir::Attribute storage = kernel.getStorages()[number];
  if (auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(storage)) {
    const int64_t physical = tree.getComponentAxis(component, axis);
    return physical >= 0 && kernel.getTree(tree.getComponentTree(component))
                                .divides(tree.getComponentNode(component), physical);
  }
  if (auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storage)) return !ndarray.getClamp();
  auto dense = llvm::cast<ir::DenseAttr>(storage);
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    if (dense.getDigitAxis(d) == axis) return true;
  }
  return false;
}

bool MayAlias(mlir::Value a, mlir::Value b) {
  return MayOverlap(ClassOf(a), ClassOf(b)) && MayBeSame(a, b);
}

bool MayBeSame(mlir::Value a, mlir::Value b) {
  auto x = a.getDefiningOp<ir::GlobalOp>(), y = b.getDefiningOp<ir::GlobalOp>();
  // Two storages that overlap may have different layouts, where equal indices mean nothing.
  if (!x || !y || x.getStorage() != y.getStorage()) return true;
  auto kernel = x->getParentOfType<ir::KernelOp>();
  for (size_t axis = 0; axis < x.getIndices().size(); ++axis) {
    const auto [base_i, number_i] = SplitIndex(x.getIndices()[axis]);
    const auto [base_j, number_j] = SplitIndex(y.getIndices()[axis]);
    // One axis that differs by a constant is enough.
    if (base_i == base_j && number_i != number_j &&
        Distinguishes(kernel, x.getStorage(), x.getComponent(), axis)) {
      return false;
    }
  }
  return true;
}

ir::GlobalOp GlobalInTree(mlir::Value address) {
  auto global = ArrayOf(address).getDefiningOp<ir::GlobalOp>();
  if (!global) return {};
  auto kernel = global->getParentOfType<ir::KernelOp>();
  return kernel.getTreeField(global.getStorage()) ? global : ir::GlobalOp();
}

namespace {

// Bounds of an index of a parallel loop: first and one past the last.
std::optional<ConstantBounds> BoundsOf(mlir::Value index) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(index);
  if (!argument) return std::nullopt;
  auto loop = llvm::dyn_cast<ir::ParallelForOp>(argument.getOwner()->getParentOp());
  if (!loop) return std::nullopt;
  const unsigned d = argument.getArgNumber();
  if (loop.isSparse()) {
    auto kernel = loop->getParentOfType<ir::KernelOp>();
    ir::TreeFieldAttr field = kernel.getTreeField(*loop.getOver());
    ir::TreeAttr tree = kernel.getTree(field.getTree());
    return ConstantBounds{0, tree.getAxisExtent(field.getNode(), field.getAxis(d))};
  }
  return ConstantBoundsOf(loop.getLowers()[d], loop.getUppers()[d]);
}

}  // namespace

bool IsInRange(ir::GlobalOp global) {
  auto kernel = global->getParentOfType<ir::KernelOp>();
  ir::TreeFieldAttr field = kernel.getTreeField(global.getStorage());
  const int c = static_cast<int>(global.getComponent());
  ir::TreeAttr tree = kernel.getTree(field.getComponentTree(c));
  for (int axis = 0; axis < field.getNumAxes(); ++axis) {
    const int64_t physical = field.getComponentAxis(c, axis);
    if (physical < 0) continue;
    // A constant index is a loop over [0, 1), shifted.
    const auto [base, number] = SplitIndex(global.getIndices()[axis]);
    const auto bounds = base ? BoundsOf(base) : std::optional(ConstantBounds{0, 1});
    const int64_t shift = number - field.getAxisOffset(axis);
    // Without known bounds the index may be anything.
    if (!bounds || bounds->lower + shift < 0 ||
        bounds->upper + shift > tree.getAxisExtent(field.getComponentNode(c), physical)) {
      return false;
    }
  }
  return true;
}

mlir::Operation* ParallelScope(mlir::Operation* op) {
  for (op = op->getParentOp();; op = op->getParentOp()) {
    if (llvm::isa<ir::ParallelForOp, ir::RangeTaskOp, ir::SerialTaskOp, ir::FunctionOp,
                  ir::KernelOp>(op)) {
      return op;
    }
  }
}

}  // namespace kiln
