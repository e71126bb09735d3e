#include "client_cpp/field_tree.h"

#include <utility>

#include "client_cpp/host/tree_access.h"
#include "client_cpp/runtime_status.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// An axis that no level of the tree divides has the extent 1.
std::vector<int64_t> ShapeOf(const TreeLayout& layout, int node,
                             absl::Span<const int32_t> physical_axes) {
  std::vector<int64_t> shape;
  for (const int32_t axis : physical_axes) {
    shape.push_back(
        axis < 0 ? 1 : static_cast<int64_t>(layout.AxisExtent(node, static_cast<uint32_t>(axis))));
  }
  return shape;
}

}  // namespace

absl::StatusOr<std::shared_ptr<FieldTree>> FieldTree::Create(const proto::Tree& nodes,
                                                             std::vector<std::string> names,
                                                             Device* device,
                                                             std::shared_ptr<MemoryBudget> budget) {
  ASSIGN_OR_RETURN(TreeLayout layout, TreeLayout::Make(nodes));
  std::shared_ptr<FieldTree> tree(new FieldTree(std::move(layout)));
  tree->is_sparse_ = tree->layout_.shape().HasSparse();
  if (!tree->is_sparse_ && device == &CpuDevice()) {
    ASSIGN_OR_RETURN(tree->dense_, ToStatusOr(device->Allocate(tree->layout_.root_bytes())));
    tree->root_ = tree->dense_->data();
    return tree;
  }
  TreeOptions options;
  options.names = std::move(names);
  if (tree->is_sparse_) options.budget = std::move(budget);  // dense levels need what they have
  ASSIGN_OR_RETURN(Device::MadeTree made,
                   ToStatusOr(device->MakeTree(tree->layout_.shape(), std::move(options))));
  tree->data_ = std::move(made.tree);
  tree->mirrored_ = std::move(made.buffer);
  tree->root_ = tree->mirrored_ == nullptr ? tree->data_->root() : tree->mirrored_->data();
  return tree;
}

absl::StatusOr<std::shared_ptr<const ScatteredAccess>> FieldTree::AccessTo(
    const std::vector<int>& places, Scalar scalar, const std::vector<int64_t>& shape) const {
  proto::Type element;
  element.set_scalar(scalar);
  std::vector<TreeAccess::Component> components;
  for (const int place : places) {
    TreeAccess::Component component;
    component.place = place;
    component.tree = data_.get();
    component.axes = layout_.VirtualAxes(place);
    if (component.tree == nullptr) {
      ASSIGN_OR_RETURN(const TreeLayout::DenseField dense, layout_.DescribeDense({place}, element));
      component.dense = DenseAccess::OfField(dense, root_, scalar);
    }
    components.push_back(std::move(component));
  }
  DenseAccess elements = DenseAccess::OfShape(scalar, static_cast<int>(places.size()), shape,
                                              std::vector<int64_t>(shape.size()));
  return std::make_shared<TreeAccess>(scalar, shape, std::move(components), std::move(elements));
}

absl::StatusOr<TreeField> FieldTree::Field(const std::vector<int>& places,
                                           const proto::Type& element, uint32_t number) const {
  TreeField field;
  field.shape = ShapeOf(layout_, places[0], layout_.VirtualAxes(places[0]));
  ASSIGN_OR_RETURN(field.access, AccessTo(places, element.scalar(), field.shape));
  // The dense form first, as for Python's fields: their kernels have the same keys.
  if (layout_.IsAllDense(places[0])) {
    auto described = layout_.DescribeDense(places, element);
    if (described.ok()) {
      field.storage = described->storage;
      for (const uint64_t offset : described->base_offsets) {
        field.bases.push_back(reinterpret_cast<uint64_t>(root_) + offset);
      }
      field.outer_extent = described->outer_extent;
      return field;
    }
  }
  std::vector<TreePlace> parts;
  parts.reserve(places.size());
  for (const int place : places) parts.push_back({&layout_, number, place});
  ASSIGN_OR_RETURN(field.storage, DescribeTreeField(parts, element));
  return field;
}

std::vector<KilnNode*> FieldTree::NodesOf(const ReachedTree& part) const {
  std::vector<KilnNode*> nodes;
  nodes.reserve(part.nodes.size());
  for (const uint32_t node : part.nodes) {
    nodes.push_back(is_sparse_ ? data_->node(static_cast<int>(node)) : nullptr);
  }
  return nodes;
}

}  // namespace kiln
