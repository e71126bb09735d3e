// DescribeTree, DescribeNode, DescribeTreeField: trees, and storages in them, as units state them
// (proto/layout.proto).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/layout/layout.h"

namespace kiln {
namespace {

// Where a place, or the word that holds it, is.
proto::TreeComponent Locate(const TreePlace& at) {
  const auto [node, offset] = at.layout->shape().CellOf(at.place);
  proto::TreeComponent component;
  component.set_tree(at.tree);
  component.set_node(static_cast<uint32_t>(node));
  component.set_bit_offset(8 * offset);
  return component;
}

// Extents by index.
std::vector<uint64_t> ShapeOf(const TreePlace& at) {
  std::vector<uint64_t> shape;
  for (const int32_t axis : at.layout->VirtualAxes(at.place)) {
    shape.push_back(axis < 0 ? 1 : at.layout->AxisExtent(at.place, static_cast<uint32_t>(axis)));
  }
  return shape;
}

absl::Status AddWord(const std::vector<TreePlace>& places, const std::vector<int32_t>& axes,
                     proto::Storage* storage) {
  std::vector<int> numbers;
  for (const TreePlace& at : places) {
    const TreePlace& first = places[0];
    if (at.layout != first.layout ||
        (*at.layout)[at.place].parent != (*first.layout)[first.place].parent) {
      return absl::InvalidArgumentError("components of one quantised field are in several words");
    }
    numbers.push_back(at.place);
  }
  std::vector<int> inverse(kMaxIndices, -1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= 0) inverse[static_cast<size_t>(axes[i])] = static_cast<int>(i);
  }
  *storage->mutable_word() = places[0].layout->DescribeWord(numbers, inverse);
  return absl::OkStatus();
}

}  // namespace

proto::TreePart TreeLayout::DescribeTree() const {
  proto::TreePart part;
  part.mutable_nodes()->Reserve(tree_.nodes_size());
  for (int n = 0; n < tree_.nodes_size(); ++n) {
    const proto::SNode& given = tree_.nodes(n);
    const NodeLayout& layout = shape_[n];
    proto::TreeNode* node = part.add_nodes();
    node->set_kind(given.kind());
    // The root has no parent (-1); on the wire it is its own.
    node->set_parent(static_cast<uint32_t>(std::max(layout.parent, 0)));
    // Places have no containers: components say where they are.
    if (!layout.kind->is_level()) continue;
    for (const NodeLayout::Level& level : layout.levels) {
      proto::Axis* axis = node->add_axes();
      axis->set_axis(level.axis);
      axis->set_extent(level.extent);
    }
    node->set_cell_bytes(layout.cell_bytes);
    node->set_offset(layout.offset);
    node->set_mask_offset(layout.mask_offset);
    if (layout.kind->is_list) node->set_chunk_size(given.chunk_size());
  }
  return part;
}

proto::Storage TreeLayout::DescribeNode(int node, uint32_t tree) const {
  proto::Storage storage;
  storage.mutable_tree()->set_tree(tree);
  storage.mutable_tree()->set_node(static_cast<uint32_t>(node));
  for (const uint32_t axis : PathAxes(node)) {
    storage.mutable_tree()->add_axes(static_cast<int32_t>(axis));
  }
  return storage;
}

absl::StatusOr<proto::Storage> DescribeTreeField(const std::vector<TreePlace>& places,
                                                 const proto::Type& element) {
  uint64_t elements = 1;
  for (const uint32_t extent : element.shape()) elements *= extent;
  if (places.empty() || places.size() != elements) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an element of ", elements, " scalars takes as many places, not ", places.size()));
  }
  const TreePlace& first = places[0];
  proto::Storage storage;
  *storage.mutable_element() = element;
  proto::TreeStorage* tree = storage.mutable_tree();
  const std::vector<uint64_t> shape = ShapeOf(first);
  const std::vector<int32_t> axes = first.layout->VirtualAxes(first.place);
  for (const TreePlace& at : places) {
    const proto::Tree& of = at.layout->tree();
    if (at.place <= 0 || at.place >= of.nodes_size() || !(*at.layout)[at.place].kind->is_place()) {
      return absl::InvalidArgumentError(absl::StrCat("SNode ", at.place, " is not a place"));
    }
    if (ShapeOf(at) != shape) {
      return absl::InvalidArgumentError(
          "components of one field are in arrays of different shapes");
    }
    proto::TreeComponent* component = tree->add_components();
    *component = Locate(at);
    const std::vector<int32_t> own = at.layout->VirtualAxes(at.place);
    // Only if they differ, which is rare: equal fields must have equal descriptors.
    if (own != axes) component->mutable_axes()->Assign(own.begin(), own.end());
  }
  tree->set_tree(tree->components(0).tree());
  tree->set_node(tree->components(0).node());
  if (first.layout->tree().nodes(first.place).type().has_quant()) {
    RETURN_IF_ERROR(AddWord(places, axes, &storage));
  }
  tree->mutable_axes()->Assign(axes.begin(), axes.end());
  const auto& offsets = first.layout->tree().nodes(first.place).index_offset();
  if (std::any_of(offsets.begin(), offsets.end(), [](int64_t o) { return o != 0; })) {
    if (offsets.size() != static_cast<int>(axes.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(offsets.size(), " index offsets for ", axes.size(), " indices"));
    }
    *tree->mutable_index_offset() = offsets;
  }
  return storage;
}

}  // namespace kiln
