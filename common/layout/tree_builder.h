// Builds a tree of SNodes (proto/layout.proto) node by node, for TreeLayout::Make.
//
//   TreeBuilder tree;
//   const int block = tree.Add(proto::SNODE_POINTER, TreeBuilder::kRoot, {{0, 16}, {1, 16}});
//   const int x = tree.Place(block, proto::F32);
//
// Checks nothing: TreeLayout::Make does. Not thread-safe.
#ifndef KILN_COMMON_LAYOUT_TREE_BUILDER_H_
#define KILN_COMMON_LAYOUT_TREE_BUILDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kiln/proto/layout.pb.h"

namespace kiln {

class TreeBuilder {
 public:
  static constexpr int kRoot = 0;
  // The physical axis and the extent of each that an SNode divides.
  using Axes = std::vector<std::pair<uint32_t, uint64_t>>;

  TreeBuilder() { tree_.add_nodes()->set_kind(proto::SNODE_ROOT); }

  // Returns the number of the new node, the last child of `parent`. `chunk_size`: of lists.
  int Add(proto::SNodeKind kind, int parent, const Axes& axes, uint32_t chunk_size = 0) {
    const int number = tree_.nodes_size();
    tree_.mutable_nodes(parent)->add_children(static_cast<uint32_t>(number));
    proto::SNode* node = tree_.add_nodes();
    node->set_kind(kind);
    for (const auto& [axis, extent] : axes) {
      proto::Axis* level = node->add_axes();
      level->set_axis(axis);
      level->set_extent(extent);
    }
    node->set_chunk_size(chunk_size);
    return number;
  }
  int Place(int parent, proto::Scalar scalar) {
    const int number = Add(proto::SNODE_PLACE, parent, {});
    node(number)->mutable_type()->set_scalar(scalar);
    return number;
  }

  // A node, to state more about it. Valid until the next one is added.
  proto::SNode* node(int number) { return tree_.mutable_nodes(number); }
  int size() const { return tree_.nodes_size(); }
  const proto::Tree& tree() const { return tree_; }

 private:
  proto::Tree tree_;
};

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_TREE_BUILDER_H_
