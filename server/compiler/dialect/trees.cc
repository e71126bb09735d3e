// Trees: what their attributes answer, and what ops that name them must be.
#include "server/compiler/dialect/dialect.h"

namespace kiln::ir {

using mlir::LogicalResult;

int64_t SNodeAttr::getNumCells() const {
  int64_t cells = 1;
  for (int a = 0; a < getNumAxes(); ++a) cells *= getExtent(a);
  return cells;
}

llvm::SmallVector<int64_t> TreeAttr::getPath(int64_t node) const {
  llvm::SmallVector<int64_t> path;
  for (; node != 0; node = getNode(node).getParent()) path.push_back(node);
  // From the root's child down to the node; the root itself, which every path has, is left out.
  std::reverse(path.begin(), path.end());
  return path;
}

int64_t TreeAttr::getLastSparse(int64_t node) const {
  // The root is dense, and stands for "none".
  while (node != 0 && !getNode(node).isSparse()) node = getNode(node).getParent();
  return node;
}

int64_t TreeAttr::getAxisExtent(int64_t node, int64_t axis) const {
  int64_t extent = 1;
  for (; node != 0; node = getNode(node).getParent()) {
    for (int a = 0; a < getNode(node).getNumAxes(); ++a) {
      if (getNode(node).getAxis(a) == axis) extent *= getNode(node).getExtent(a);
    }
  }
  return extent;
}

// Not the same as an extent above 1: a level of one cell divides its axis, and takes an index.
bool TreeAttr::divides(int64_t node, int64_t axis) const {
  for (; node != 0; node = getNode(node).getParent()) {
    for (int a = 0; a < getNode(node).getNumAxes(); ++a) {
      if (getNode(node).getAxis(a) == axis) return true;
    }
  }
  return false;
}

llvm::SmallVector<int> TreeFieldAttr::getIndicesAbove(TreeAttr tree) const {
  const int64_t parent = tree.getNode(getNode()).getParent();
  llvm::SmallVector<int> indices;
  for (int i = 0; i < getNumAxes(); ++i) {
    if (getAxis(i) >= 0 && tree.divides(parent, getAxis(i))) indices.push_back(i);
  }
  return indices;
}

// Parents come before their children, so every path ends at the root.
static LogicalResult VerifyTree(KernelOp kernel, mlir::Attribute attribute) {
  auto tree = llvm::dyn_cast<TreeAttr>(attribute);
  // Lowering makes trees from checked units. This guards golden tests and passes against each
  // other.
  if (!tree || tree.getNodes().empty()) return kernel.emitOpError("has a tree without nodes");
  int64_t number = 0;
  for (SNodeAttr node : tree.getNodes()) {
    const bool is_root = node.getKind() == SNodeKind::kRoot;
    if (is_root != (number == 0) || (number > 0 && node.getParent() >= number) ||
        node.getParent() < 0 || node.getAxes().size() % 2 != 0) {
      return kernel.emitOpError("has a tree whose node ") << number << " has no place in it";
    }
    ++number;
  }
  return mlir::success();
}

// The numbers come from text (kiln-opt) as well as from lowering, so nothing about them is certain.
static bool IsNode(KernelOp kernel, int64_t tree, int64_t node) {
  const int64_t trees = kernel.getTrees() ? kernel.getTrees()->size() : 0;
  return tree >= 0 && tree < trees && node >= 0 &&
         node < static_cast<int64_t>(kernel.getTree(tree).getNodes().size());
}

// Components are triples: tree, node, offset. Axes of their own are a row of axes for each
// component.
static LogicalResult VerifyField(KernelOp kernel, TreeFieldAttr field) {
  if (!IsNode(kernel, field.getTree(), field.getNode())) {
    return kernel.emitOpError("has a storage in a tree or node that does not exist");
  }
  if (field.getComponents().size() % 3 != 0 ||
      field.getNumComponents() != static_cast<int>(field.getTypes().size()) ||
      (!field.getOffset().empty() && field.getOffset().size() != field.getNumAxes()) ||
      (field.getComponentAxes() &&
       field.getComponentAxes().size() != field.getNumComponents() * field.getNumAxes())) {
    return kernel.emitOpError("has a storage in a tree whose parts do not match");
  }
  for (int c = 0; c < field.getNumComponents(); ++c) {
    if (!IsNode(kernel, field.getComponentTree(c), field.getComponentNode(c))) {
      return kernel.emitOpError("has a component in a tree or node that does not exist");
    }
  }
  return mlir::success();
}

LogicalResult KernelOp::verify() {
  if (getTrees()) {
    for (mlir::Attribute tree : *getTrees()) {
      if (failed(VerifyTree(*this, tree))) return mlir::failure();
    }
  }
  for (mlir::Attribute storage : getStorages()) {
    auto field = llvm::dyn_cast<TreeFieldAttr>(storage);
    if (field && failed(VerifyField(*this, field))) return mlir::failure();
  }
  return mlir::success();
}

// The storage in a tree that the op names; null, with an error, where it is none.
static TreeFieldAttr FieldOf(mlir::Operation* op, int64_t storage) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (kernel && storage >= 0 && storage < static_cast<int64_t>(kernel.getStorages().size())) {
    if (TreeFieldAttr field = kernel.getTreeField(storage)) return field;
  }
  op->emitOpError("names storage ") << storage << ", which is not in a tree";
  return {};
}

static LogicalResult VerifySNodeOp(mlir::Operation* op, int64_t storage, mlir::ValueRange indices,
                                   SNodeOp what) {
  TreeFieldAttr field = FieldOf(op, storage);
  if (!field) return mlir::failure();
  TreeAttr tree = op->getParentOfType<KernelOp>().getTree(field.getTree());
  const SNodeFacts& kind = tree.getNode(field.getNode()).getFacts();
  if (!Accepts(kind, what)) return op->emitOpError("does not fit an SNode of this kind");
  const size_t wanted = NamesContainer(kind, what) ? field.getIndicesAbove(tree).size()
                                                   : static_cast<size_t>(field.getNumAxes());
  if (indices.size() == wanted) return mlir::success();
  return op->emitOpError("takes ") << wanted << " indices";
}

LogicalResult ActivateOp::verify() {
  return VerifySNodeOp(*this, getStorage(), getIndices(), SNodeOp::kActivate);
}
LogicalResult DeactivateOp::verify() {
  return VerifySNodeOp(*this, getStorage(), getIndices(), SNodeOp::kDeactivate);
}
LogicalResult IsActiveOp::verify() {
  return VerifySNodeOp(*this, getStorage(), getIndices(), SNodeOp::kIsActive);
}
LogicalResult LengthOp::verify() {
  return VerifySNodeOp(*this, getStorage(), getIndices(), SNodeOp::kLength);
}
LogicalResult AppendOp::verify() {
  return VerifySNodeOp(*this, getStorage(), getIndices(), SNodeOp::kAppend);
}

static LogicalResult VerifyOver(mlir::Operation* op, std::optional<int64_t> over,
                                mlir::ValueRange indices) {
  TreeFieldAttr field = FieldOf(op, over.value_or(-1));
  if (!field) return mlir::failure();
  // The loop's arguments are the field's indices, even those that no level divides: they are 0
  // then.
  if (indices.size() != static_cast<size_t>(field.getNumAxes())) {
    return op->emitOpError("has ") << indices.size() << " indices, not " << field.getNumAxes();
  }
  return mlir::success();
}

LogicalResult ParallelForOp::verify() {
  return isSparse() ? VerifyOver(*this, getOver(), getBody().getArguments()) : mlir::success();
}

LogicalResult RangeTaskOp::verify() {
  if (isSparse()) return VerifyOver(*this, getOver(), getIndices());
  // A lower and an upper bound for each index.
  if (getBounds().front().getTerminator()->getNumOperands() == 2u * getNumDims()) {
    return mlir::success();
  }
  return emitOpError("has bounds that are not those of its indices");
}

template <typename Op>
static LogicalResult VerifyTask(Op op) {
  auto kernel = op->template getParentOfType<KernelOp>();
  const auto tree = static_cast<int64_t>(op.getTree()), node = static_cast<int64_t>(op.getNode());
  // Only sparse nodes have lists and cells to collect.
  if (IsNode(kernel, tree, node) && kernel.getTree(tree).getNode(node).isSparse()) {
    return mlir::success();
  }
  return op.emitOpError("is not of a sparse node");
}

LogicalResult ListgenTaskOp::verify() { return VerifyTask(*this); }
LogicalResult GcTaskOp::verify() { return VerifyTask(*this); }

}  // namespace kiln::ir
