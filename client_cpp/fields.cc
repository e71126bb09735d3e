#include "client_cpp/fields.h"

#include <algorithm>

#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"
#include "common/language/type.h"
#include "common/layout/layout.h"
#include "common/layout/tree_builder.h"
#include "runtime/slot.h"

namespace kiln {
namespace {

uint32_t NumElements(const std::vector<uint32_t>& shape) {
  uint64_t product = 1;
  for (uint32_t extent : shape)
    // Saturates, so that absurd shapes cannot wrap to a valid number.
    product = std::min<uint64_t>(product * extent, kMaxTensorElements + 1);
  return static_cast<uint32_t>(product);
}

// root → one dense level over all axes, if there are any → one place per element, the last nodes.
proto::Tree OneLevelTree(proto::Scalar scalar, const std::vector<uint64_t>& shape,
                         uint32_t elements) {
  TreeBuilder tree;
  TreeBuilder::Axes axes;
  for (uint32_t axis = 0; axis < shape.size(); ++axis) axes.emplace_back(axis, shape[axis]);
  int parent = TreeBuilder::kRoot;
  if (!axes.empty()) parent = tree.Add(proto::SNODE_DENSE, parent, axes);
  for (uint32_t i = 0; i < elements; ++i) tree.Place(parent, scalar);
  return tree.tree();
}

}  // namespace

absl::StatusOr<std::shared_ptr<DenseField>> DenseField::Create(
    proto::Scalar scalar, const std::vector<uint64_t>& shape,
    const std::vector<uint32_t>& element_shape, Companions companions, Device* device) {
  const uint32_t elements = NumElements(element_shape);
  if (elements == 0 || elements > kMaxTensorElements) {
    return absl::InvalidArgumentError("an element of a field has between 1 and 65536 scalars");
  }
  if (companions != Companions::kNone && !IsFloat(scalar)) {
    return absl::InvalidArgumentError("only fields of floats have gradients and duals");
  }
  const proto::Tree tree = OneLevelTree(scalar, shape, elements);
  ASSIGN_OR_RETURN(TreeLayout layout, TreeLayout::Make(tree));
  proto::Type element;
  element.set_scalar(scalar);
  for (uint32_t extent : element_shape) element.add_shape(extent);
  std::vector<int> places(elements);
  const int first = tree.nodes_size() - static_cast<int>(elements);
  for (uint32_t i = 0; i < elements; ++i) places[i] = first + static_cast<int>(i);
  ASSIGN_OR_RETURN(TreeLayout::DenseField described, layout.DescribeDense(places, element));

  std::shared_ptr<DenseField> field(new DenseField());
  ASSIGN_OR_RETURN(field->buffer_, ToStatusOr(device->Allocate(layout.root_bytes())));
  field->storage_ = std::move(described.storage);
  field->shape_ = shape;
  field->outer_extent_ = described.outer_extent;
  field->size_ = elements;
  for (uint64_t extent : shape) field->size_ *= extent;
  for (uint64_t offset : described.base_offsets) {
    field->bases_.push_back(reinterpret_cast<uint64_t>(field->buffer_->data() + offset));
  }
  const bool both = companions == Companions::kGradAndDual;
  if (both || companions == Companions::kGrad) {
    ASSIGN_OR_RETURN(field->grad_, Create(scalar, shape, element_shape, Companions::kNone, device));
  }
  if (both || companions == Companions::kDual) {
    ASSIGN_OR_RETURN(field->dual_, Create(scalar, shape, element_shape, Companions::kNone, device));
  }
  return field;
}

uint64_t DenseField::bytes() const {
  return size_ * static_cast<uint64_t>(ScalarBytes(storage_.element().scalar()));
}

absl::Status DenseField::Fill(double value) const {
  const proto::Scalar scalar = storage_.element().scalar();
  const uint64_t slot = SlotOf(scalar, value);
  // What the host has written to the mirror comes before.
  RETURN_IF_ERROR(ToStatus(buffer_->HandOver()));
  device()->Fill(buffer_->data(), &slot, static_cast<uint32_t>(ScalarBytes(scalar)), size_);
  return absl::OkStatus();
}

proto::Storage ArrayStorage(proto::Scalar scalar, int ndim) {
  proto::Storage storage;
  storage.mutable_element()->set_scalar(scalar);
  storage.mutable_ndarray()->set_ndim(static_cast<uint32_t>(ndim));
  return storage;
}

}  // namespace kiln
