// CheckTree, CheckTreeStorage: trees with sparse levels, and storages in them, of a unit.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/layout/check_form.h"
#include "common/layout/layout.h"

namespace kiln {
namespace {

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::StatusOr<uint64_t> CheckAxes(const proto::TreeNode& node) {
  uint64_t cells = 1;
  for (int i = 0; i < node.axes_size(); ++i) {
    const proto::Axis& axis = node.axes(i);
    // Ascending: one order for each layout, so that equal layouts have equal keys.
    if (axis.axis() >= kMaxIndices || (i > 0 && axis.axis() <= node.axes(i - 1).axis())) {
      return Bad("axis ", axis.axis(), " out of range or order");
    }
    if (axis.extent() == 0 || __builtin_mul_overflow(cells, axis.extent(), &cells) ||
        cells > kMaxContainerCells) {
      return Bad("extent of ", axis.extent());
    }
  }
  return cells;
}

// Bytes of a container of the node in its parent's cell.
absl::StatusOr<uint64_t> CheckContainer(const proto::TreeNode& node, uint64_t cells) {
  const SNodeFacts* kind = FindSNodeKind(node.kind());
  if (kind == nullptr || !kind->is_level() || kind->kind == SNodeKind::kRoot) {
    return Bad("kind ", node.kind());
  }
  RETURN_IF_ERROR(CheckSNodeForm(*kind, node.axes_size(), node.chunk_size()));
  // The mask may be anywhere after the cells.
  const uint64_t least = ShapeOfContainer(*kind, cells, node.cell_bytes(), 1).mask_offset;
  if (kind->has_mask && (node.mask_offset() < least || node.mask_offset() % 4 != 0)) {
    return Bad("mask at ", node.mask_offset());
  }
  return ContainerBytes(*kind, cells, node.cell_bytes(), node.mask_offset());
}

// No level above a list divides its axis.
// An append counts along one axis from the list's own cells; a digit above it would give the count
// a second part.
absl::Status CheckAxisOfList(const proto::TreePart& tree, const proto::TreeNode& list) {
  const uint32_t own = list.axes(0).axis();
  for (uint32_t up = list.parent(); up != 0;) {
    const proto::TreeNode& above = tree.nodes(static_cast<int>(up));
    for (const proto::Axis& axis : above.axes()) {
      if (axis.axis() == own) {
        return Bad(FindSNodeKind(list.kind())->name, " along an axis divided above");
      }
    }
    up = above.parent();
  }
  return absl::OkStatus();
}

absl::Status CheckNode(const proto::TreePart& tree, int n, std::vector<int>* depths) {
  const proto::TreeNode& node = tree.nodes(n);
  if (node.cell_bytes() > kMaxTreeBytes) return Bad("cells of ", node.cell_bytes(), " bytes");
  if (n == 0) {
    if (node.kind() != proto::SNODE_ROOT || node.axes_size() > 0) return Bad("is not a root");
    depths->push_back(0);
    return absl::OkStatus();
  }
  // All cells would have one address, and a pool of them no end.
  if (node.cell_bytes() == 0) return Bad("cells of no bytes");
  // Parents come first, so the walk needs no recursion and a tree has no cycle.
  if (node.parent() >= static_cast<uint32_t>(n)) return Bad("parent ", node.parent());
  // Each level costs code or stack wherever a tree is walked, so the depth is bounded.
  depths->push_back((*depths)[node.parent()] + 1);
  if (depths->back() > kMaxTreeDepth) return Bad("nested over ", kMaxTreeDepth, " deep");
  ASSIGN_OR_RETURN(const uint64_t cells, CheckAxes(node));
  ASSIGN_OR_RETURN(const uint64_t bytes, CheckContainer(node, cells));
  if (FindSNodeKind(node.kind())->is_list) RETURN_IF_ERROR(CheckAxisOfList(tree, node));
  const uint64_t room = tree.nodes(static_cast<int>(node.parent())).cell_bytes();
  // Subtracts instead of adding: the sum might overflow.
  if (node.offset() > room || bytes > room - node.offset()) {
    return Bad(bytes, " bytes at ", node.offset(), " of a cell of ", room);
  }
  return absl::OkStatus();
}

absl::Status CheckComponent(const TreeParts& trees, const proto::TreeComponent& component,
                            uint64_t bits) {
  if (component.tree() >= static_cast<uint32_t>(trees.size())) {
    return Bad("tree ", component.tree(), " does not exist");
  }
  const proto::TreePart& tree = trees.Get(static_cast<int>(component.tree()));
  if (component.node() >= static_cast<uint32_t>(tree.nodes_size())) {
    return Bad("SNode ", component.node(), " does not exist");
  }
  // Overlaps of components are allowed; reaching beyond the cell is not.
  const uint64_t room = 8 * tree.nodes(static_cast<int>(component.node())).cell_bytes();
  if (component.bit_offset() % 8 != 0 || component.bit_offset() > room ||
      bits > room - component.bit_offset()) {
    return Bad("offset of ", component.bit_offset(), " bits");
  }
  return absl::OkStatus();
}

// Physical axes of indices. Each occurs at most once.
template <typename Axes>
absl::Status CheckPhysical(const Axes& axes) {
  if (axes.size() > kMaxIndices) return Bad(axes.size(), " indices");
  uint32_t seen = 0;
  for (const int32_t axis : axes) {
    if (axis < -1 || axis >= kMaxIndices || (axis >= 0 && (seen >> axis & 1) != 0)) {
      return Bad("physical axis ", axis);
    }
    if (axis >= 0) seen |= uint32_t{1} << axis;
  }
  return absl::OkStatus();
}

// Components may have axes of their own: as many as the storage, and the same in the cells of one
// node.
absl::Status CheckComponentAxes(const proto::TreeStorage& tree) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<int32_t>> of_node;
  for (const proto::TreeComponent& component : tree.components()) {
    const auto& axes = component.axes().empty() ? tree.axes() : component.axes();
    RETURN_IF_ERROR(CheckPhysical(axes));
    std::vector<int32_t> own(axes.begin(), axes.end());
    const auto [known, is_new] =
        of_node.emplace(std::pair(component.tree(), component.node()), own);
    if (axes.size() != tree.axes_size() || (!is_new && known->second != own)) {
      return Bad("components of one cell with other axes");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTree(const proto::TreePart& tree) {
  if (tree.nodes_size() == 0) return Bad("SNode tree without nodes");
  if (tree.nodes_size() > kMaxTreeNodes) return Bad(tree.nodes_size(), " nodes");
  std::vector<int> depths;
  for (int n = 0; n < tree.nodes_size(); ++n) {
    const absl::Status status = CheckNode(tree, n, &depths);
    if (!status.ok()) return Bad("SNode ", n, ": ", status.message());
  }
  return absl::OkStatus();
}

std::vector<int> IndicesAbove(const proto::TreePart& tree, const proto::TreeStorage& storage) {
  uint32_t divided = 0;
  auto n = static_cast<int>(storage.node());
  while (n != 0) {
    n = static_cast<int>(tree.nodes(n).parent());
    for (const proto::Axis& axis : tree.nodes(n).axes()) divided |= uint32_t{1} << axis.axis();
  }
  std::vector<int> indices;
  for (int i = 0; i < storage.axes_size(); ++i) {
    const int32_t axis = storage.axes(i);
    if (axis >= 0 && (divided >> axis & 1) != 0) indices.push_back(i);
  }
  return indices;
}

absl::Status CheckTreeStorage(const proto::Storage& storage, uint64_t elements,
                              const TreeParts& trees) {
  const proto::TreeStorage& tree = storage.tree();
  proto::TreeComponent at;
  at.set_tree(tree.tree());
  at.set_node(tree.node());
  RETURN_IF_ERROR(CheckComponent(trees, at, 0));
  if (tree.components_size() > 0 && static_cast<uint64_t>(tree.components_size()) != elements) {
    return Bad(tree.components_size(), " components for an element of ", elements, " scalars");
  }
  if (tree.components_size() > 0 && storage.element().scalar() == proto::SCALAR_NONE) {
    return Bad("components of no type");
  }
  const uint64_t bits = storage.has_word()
                            ? storage.word().bits()
                            : 8 * static_cast<uint64_t>(ScalarBytes(storage.element().scalar()));
  for (int i = 0; i < tree.components_size(); ++i) {
    const absl::Status status = CheckComponent(trees, tree.components(i), bits);
    if (!status.ok()) return Bad("component ", i, ": ", status.message());
  }
  RETURN_IF_ERROR(CheckPhysical(tree.axes()));
  RETURN_IF_ERROR(CheckComponentAxes(tree));
  if (tree.index_offset_size() != 0 && tree.index_offset_size() != tree.axes_size()) {
    return Bad(tree.index_offset_size(), " index offsets for ", tree.axes_size(), " indices");
  }
  for (const int64_t offset : tree.index_offset()) {
    if (offset < -kMaxIndexOffset || offset > kMaxIndexOffset) return Bad("index offset ", offset);
  }
  return absl::OkStatus();
}

}  // namespace kiln
