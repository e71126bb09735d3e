#include "common/layout/prune_trees.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// The state of one tree.
struct Pruning {
  uint32_t number = 0;        // among the parts
  std::vector<bool> reached;  // by node; empty: no storage names the tree
  std::vector<uint32_t> renumbered;
  uint64_t begin = 0, end = 0;  // what is reached of the root's cell, in bytes
};

class Pruner {
 public:
  Pruner(Storages* storages, TreeParts* trees)
      : storages_(storages), trees_(trees), prunings_(trees->size()) {}

  absl::StatusOr<std::vector<ReachedTree>> Run() {
    for (const proto::Storage& storage : *storages_) {
      if (!storage.has_tree()) continue;
      RETURN_IF_ERROR(Reach(storage.tree().tree(), storage.tree().node()));
      for (const proto::TreeComponent& component : storage.tree().components()) {
        RETURN_IF_ERROR(Reach(component.tree(), component.node()));
      }
    }
    // The units of two programs that use equal parts of different trees are then equal, and share a
    // key.
    for (const ReachedTree& tree : order_) Renumber(tree.tree);
    MeasureRoots();
    TreeParts parts;
    for (ReachedTree& tree : order_) MakePart(&tree, parts.Add());
    for (proto::Storage& storage : *storages_) {
      if (storage.has_tree()) Rewrite(storage.mutable_tree());
    }
    trees_->Swap(&parts);
    return std::move(order_);
  }

 private:
  absl::Status Reach(uint32_t tree, uint32_t node) {
    if (tree >= static_cast<uint32_t>(trees_->size())) {
      return absl::InvalidArgumentError(absl::StrCat("tree ", tree, " does not exist"));
    }
    const proto::TreePart& whole = trees_->Get(static_cast<int>(tree));
    if (node >= static_cast<uint32_t>(whole.nodes_size())) {
      return absl::InvalidArgumentError(absl::StrCat("SNode ", node, " does not exist"));
    }
    Pruning& pruning = prunings_[tree];
    if (pruning.reached.empty()) {
      pruning.reached.assign(whole.nodes_size(), false);
      pruning.reached[0] = true;
      // In the order in which storages first name them, which the kernel decides and not the
      // program.
      pruning.number = static_cast<uint32_t>(order_.size());
      order_.push_back({tree, {}});
    }
    // Up to the first node that is reached already: all above it are, too.
    while (!pruning.reached[node]) {
      pruning.reached[node] = true;
      const uint32_t parent = whole.nodes(static_cast<int>(node)).parent();
      // The input is not checked yet; this ends the loop in any case.
      if (parent >= node) {
        return absl::InvalidArgumentError(absl::StrCat("SNode ", node, ": parent ", parent));
      }
      node = parent;
    }
    return absl::OkStatus();
  }

  void Renumber(uint32_t tree) {
    Pruning& pruning = prunings_[tree];
    uint32_t next = 0;
    for (const bool reached : pruning.reached) pruning.renumbered.push_back(reached ? next++ : 0);
    pruning.begin = ~uint64_t{0};
  }

  void Cover(uint32_t tree, uint64_t begin, uint64_t bytes) {
    Pruning& pruning = prunings_[tree];
    pruning.begin = std::min(pruning.begin, begin);
    pruning.end = std::max(pruning.end, begin + bytes);
  }

  // The range of each root's cell that storages reach: containers, and components in the cell
  // itself.
  void MeasureRoots() {
    for (const ReachedTree& tree : order_) {
      const proto::TreePart& whole = trees_->Get(static_cast<int>(tree.tree));
      for (int n = 1; n < whole.nodes_size(); ++n) {
        const proto::TreeNode& node = whole.nodes(n);
        // What is deeper is inside of these containers.
        if (!prunings_[tree.tree].reached[n] || node.parent() != 0) continue;
        Cover(tree.tree, node.offset(), ContainerBytes(node));
      }
    }
    for (const proto::Storage& storage : *storages_) {
      const auto bits = 8 * static_cast<uint64_t>(ScalarBytes(storage.element().scalar()));
      for (const proto::TreeComponent& component : storage.tree().components()) {
        if (component.node() != 0) continue;
        // A quantised component is a word of at most 64 bits.
        const uint64_t begin = component.bit_offset() / 8;
        Cover(component.tree(), begin, (component.bit_offset() % 8 + bits + 7) / 8);
      }
    }
    for (const ReachedTree& tree : order_) {
      Pruning& pruning = prunings_[tree.tree];
      // A multiple of the largest alignment of a scalar or pointer.
      pruning.begin = pruning.begin == ~uint64_t{0} ? 0 : pruning.begin / 8 * 8;
    }
  }

  static uint64_t ContainerBytes(const proto::TreeNode& node) {
    uint64_t cells = 1;
    for (const proto::Axis& axis : node.axes()) cells *= axis.extent();
    const SNodeFacts* kind = FindSNodeKind(node.kind());
    if (kind == nullptr) return 0;  // CheckTree refuses it
    return kiln::ContainerBytes(*kind, cells, node.cell_bytes(), node.mask_offset());
  }

  void MakePart(ReachedTree* tree, proto::TreePart* part) const {
    const Pruning& pruning = prunings_[tree->tree];
    const proto::TreePart& whole = trees_->Get(static_cast<int>(tree->tree));
    tree->root_offset = pruning.begin;
    for (int n = 0; n < whole.nodes_size(); ++n) {
      if (!pruning.reached[n]) continue;
      tree->nodes.push_back(static_cast<uint32_t>(n));
      proto::TreeNode* node = part->add_nodes();
      *node = whole.nodes(n);
      // The root's cell shrinks to what is used: other fields of the tree must not change the key.
      if (n == 0) {
        node->set_cell_bytes(pruning.end - std::min(pruning.begin, pruning.end));
      } else {
        if (node->parent() == 0) node->set_offset(node->offset() - pruning.begin);
        node->set_parent(pruning.renumbered[node->parent()]);
      }
    }
  }

  void Rewrite(proto::TreeStorage* storage) const {
    const Pruning& pruning = prunings_[storage->tree()];
    storage->set_node(pruning.renumbered[storage->node()]);
    storage->set_tree(pruning.number);
    for (proto::TreeComponent& component : *storage->mutable_components()) {
      const Pruning& of = prunings_[component.tree()];
      if (component.node() == 0) component.set_bit_offset(component.bit_offset() - 8 * of.begin);
      component.set_node(of.renumbered[component.node()]);
      component.set_tree(of.number);
    }
  }

  Storages* storages_;
  TreeParts* trees_;
  std::vector<Pruning> prunings_;
  std::vector<ReachedTree> order_;
};

}  // namespace

void RenumberTrees(const std::vector<uint32_t>& numbers, proto::TreeStorage* storage) {
  storage->set_tree(numbers[storage->tree()]);
  for (proto::TreeComponent& component : *storage->mutable_components()) {
    component.set_tree(numbers[component.tree()]);
  }
}

absl::StatusOr<std::vector<ReachedTree>> PruneTrees(Storages* storages, TreeParts* trees) {
  return Pruner(storages, trees).Run();
}

}  // namespace kiln
