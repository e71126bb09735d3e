#include "server/compiler/codegen/struct_element.h"

#include <tuple>

#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {

using llvm::Value;

void StateList(const StructPlan& plan, proto::Task* task) {
  task->set_kind(proto::TASK_STRUCT);
  task->set_tree(plan.field.getTree());
  task->set_node(plan.node);
  task->set_slices(plan.slices);
}

void SetTreeEffects(ir::RangeTaskOp op, const StructPlan& plan, FunctionEmitter* f) {
  const KernelState& state = f->state();
  f->trees().set_effects(
      TreeEffectsOf(op.getBody(), state.kernel, state.functions,
                    [&](const ComponentAccess& access) { return IsOwnCell(plan, op, access); }));
}

Value* StructElement::Field(Value* element, int64_t offset, llvm::Type* type) {
  Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), element, offset);
  auto* load = b_.CreateLoad(type, at);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
  return load;
}

// The index of a slice's container is a multiple of the node's extents. Its quotient is therefore a
// leaf with the bounds of the parent's cells. KilnElement has the index in i32; no index is
// negative.
void StructElement::ReadPlace(Value* element) {
  cell_ = Field(element, abi::kCell, b_.getPtrTy());
  leaves_.clear();
  // A slice's index is that of its container's cell 0; the cell's digits are added later.
  const int64_t node = plan_.slices ? Node().getParent() : plan_.node;
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    at_[axis] = Affine();
    const int64_t extent = plan_.tree.getAxisExtent(node, axis);
    // One index only: 0, which needs no load.
    if (extent == 1) continue;
    Value* at = Field(element, abi::kAt + abi::kIndexBytes * axis, b_.getInt32Ty());
    at = b_.CreateZExt(at, b_.getInt64Ty());
    const int64_t inner = plan_.tree.getAxisExtent(plan_.node, axis) / extent;
    if (inner > 1) at = b_.CreateUDiv(at, b_.getInt64(inner), "", /*isExact=*/true);
    leaves_.push_back(at);
    at_[axis].Add(Leaf(at, 0, extent - 1), inner);
  }
}

Affine StructElement::TakeDigit(Affine* rest, int64_t extent, bool is_outermost) {
  Affine digit = *rest;
  if (!is_outermost) std::tie(*rest, digit) = DivideAffine(b_, *rest, extent);
  // DivideAffine bounds the quotient by nothing that the walk could use; the extent is the bound.
  if (digit.terms.size() == 1) {
    digit.terms[0].low = 0;
    digit.terms[0].high = extent - 1;
  }
  return digit;
}

TreeWalker::Coordinates StructElement::Origin() const {
  TreeWalker::Coordinates index(at_.size());
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    index[axis].Add(at_[axis], plan_.tree.getAxisExtent(plan_.field.getNode(), axis) /
                                   plan_.tree.getAxisExtent(plan_.node, axis));
  }
  return index;
}

void StructElement::DefineIndices(const TreeWalker::Coordinates& index) {
  for (int i = 0; i < task_.getNumDims(); ++i) {
    const int64_t axis = plan_.field.getAxis(i);
    // A field without levels along an axis has one index there, 0.
    f_.indices().Define(task_.getIndices()[i], axis < 0 ? Affine() : index[axis]);
  }
}

void StructElement::MapIndices(const TreeWalker::Coordinates& index) {
  for (int i = 0; i < task_.getNumDims(); ++i) {
    const mlir::Value argument = task_.getIndices()[i];
    const int64_t axis = plan_.field.getAxis(i);
    Value* value = EmitAffine(b_, axis < 0 ? Affine() : index[axis]);
    f_.Map(argument, b_.CreateTrunc(value, LlvmType(argument.getType(), b_.getContext())));
  }
  DefineIndices(index);
}

TreeWalker::Coordinates StructElement::Digits(Value* cell) {
  TreeWalker::Coordinates index = at_;
  Affine rest = Leaf(cell, 0, Node().getNumCells() - 1);
  for (int a = Node().getNumAxes(); a-- > 0;) {
    if (Node().getExtent(a) == 1) continue;
    index[Node().getAxis(a)].Add(TakeDigit(&rest, Node().getExtent(a), a == 0), 1);
  }
  return index;
}

Value* StructElement::Number(const TreeWalker::Coordinates& index) {
  Value* number = b_.getInt64(0);
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    const int64_t extent = plan_.tree.getAxisExtent(plan_.field.getNode(), axis);
    if (extent == 1) continue;
    // From the index and not from the list's order: that order changes with the cells that are
    // active, and the numbers drawn for a cell must not.
    number = b_.CreateMul(number, b_.getInt64(extent));
    number = b_.CreateAdd(number, b_.CreateSExt(EmitAffine(b_, index[axis]), b_.getInt64Ty()));
  }
  return number;
}

}  // namespace kiln
