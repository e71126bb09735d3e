// Ops on SNodes: activate, deactivate, is_active. tree_containers.cc has those of lists.
#include "llvm/IR/MDBuilder.h"
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/tree_walk.h"

namespace kiln {

using llvm::Value;

void TreeWalker::Activate(ir::ActivateOp op) {
  ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
  Cell(field.getTree(), field.getNode(), At(field, op.getIndices()), Access::kActivate);
}

Value* TreeWalker::IsActive(ir::IsActiveOp op) {
  ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
  Value* active = IsActive(field.getTree(), field.getNode(), At(field, op.getIndices()));
  return active == nullptr ? b().getTrue() : active;
}

// i1: whether a cell is active, or null if it always is. If a cell above is inactive, the walk
// reads the ambient cell, in which all containers are empty.
Value* TreeWalker::IsActive(int64_t tree, int64_t node, const Coordinates& at) {
  if (node == 0) return nullptr;
  Walk walk = QueryWalk(tree, node);
  if (!CanChange(tree, node)) {
    // The code has activated the cell: it is active if the index was in range.
    if (const auto* known = Lookup(KeyOf(walk, Access::kActivate, node, at))) return known->second;
  }
  ir::SNodeAttr level = Node(tree, node);
  if (!level.isSparse()) {
    Coordinates up = at;
    Value* in_range = nullptr;
    for (int a = 0; a < level.getNumAxes(); ++a) {
      const int64_t axis = level.getAxis(a), extent = level.getExtent(a);
      if (!IsOutermost(tree, node, axis)) {
        up[axis] = Divide(at[axis], extent).first;
      } else if (!IsRemainder(at[axis], extent)) {
        Value* index = EmitAffine(b(), at[axis]);
        in_range = And(in_range, b().CreateICmpULT(index, b().getInt64(extent)));
      }
    }
    return And(IsActive(tree, level.getParent(), up), in_range);
  }
  const Place place = PlaceOf(walk, node, at);
  return And(Activity(tree, node, place), place.in_range);
}

// Tests the cell first: a walk may end in the ambient cell, which nothing may write to.
void TreeWalker::Deactivate(ir::DeactivateOp op) {
  ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
  const int64_t tree = field.getTree(), node = field.getNode();
  ir::SNodeAttr level = Node(tree, node);
  if (!level.isSparse()) return;
  Coordinates at = At(field, op.getIndices());
  // The op acts on the whole list; cell 0 stands for it, since a list with any cell has that one.
  if (NamesContainer(level.getFacts(), SNodeOp::kDeactivate)) at[level.getAxis(0)] = Affine();
  Value* active = IsActive(tree, node, at);
  If(active == nullptr ? b().getTrue() : active, nullptr, [&]() -> Value* {
    const Place place = PlaceOf(QueryWalk(tree, node), node, at);
    Value* number = EmitAffine(b(), place.number);
    f_.state_->target->EmitDeactivate(f_, NodeState(tree, node), place.container, number);
    return nullptr;
  });
}

}  // namespace kiln
