// Storage layout: sizes, strides and offsets of every kind of SNode, and the
// descriptors (proto/layout.proto) of the fields placed in a tree.
//
// Rules:
// - A place is one scalar; each element of a tensor is a place of its own. A cell is its places
//   and containers in placement order, at natural alignment. The root has one cell, at 0.
// - A container of a dense SNode is an array of cells. A bitmasked one has a mask after them: one
//   bit per cell, in 32-bit words. A pointer one is an array of 8-byte pointers to cells, null
//   for inactive cells.
// - A container of a dynamic SNode is a 32-bit length, four unused bytes and a pointer: to the
//   chunk if one chunk holds all cells, else to an array of pointers to the chunks. Pointers are
//   null until their memory is allocated.
// - bit_struct and quant_array are one word of `physical_bits`. A float's exponent comes before
//   its digits; numbers with a shared exponent follow the exponent of the first.
// - The axes of one level are linearised row-major, by axis number.
//
// Thread safety: a TreeLayout is immutable once made.
#ifndef KILN_COMMON_LAYOUT_LAYOUT_H_
#define KILN_COMMON_LAYOUT_LAYOUT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/language/type.h"
#include "common/layout/tree_shape.h"
#include "kiln/proto/layout.pb.h"

namespace kiln {

inline constexpr int kMaxTreeNodes = 1 << 16;

// CompileUnit.trees.
using TreeParts = google::protobuf::RepeatedPtrField<proto::TreePart>;

class TreeLayout {
 public:
  // Checks the tree (kinds that may nest, axes, depth, duplicate or missing
  // children, sizes that overflow) and lays it out. InvalidArgument names the node.
  static absl::StatusOr<TreeLayout> Make(const proto::Tree& tree);

  const proto::Tree& tree() const { return tree_; }
  const TreeShape& shape() const { return shape_; }
  const NodeLayout& operator[](int node) const { return shape_[node]; }
  uint64_t root_bytes() const { return shape_.root_bytes(); }
  // Neither the node nor any of its ancestors is sparse.
  bool IsAllDense(int node) const;
  uint64_t AxisExtent(int node, uint32_t axis) const { return shape_.AxisExtent(node, axis); }
  // Physical axes used on the path to `node`, ascending.
  std::vector<uint32_t> PathAxes(int node) const;
  // Physical axis of each index that an access to `node` takes; -1: unused.
  std::vector<int32_t> VirtualAxes(int node) const;

  // A dense field's descriptor: `places` are its components (element order).
  // Bases are offsets from the tree's root, from which the launch computes addresses. Other
  // fields in the same cells change strides only, never offsets. Nested levels of one axis
  // become one digit if they form one regular array.
  struct DenseField {
    proto::Storage storage;
    std::vector<uint64_t> base_offsets;  // per base
    std::vector<uint64_t> shape;         // per virtual index
    uint64_t outer_extent;               // of digit 0; 1 without digits
  };
  absl::StatusOr<DenseField> DescribeDense(const std::vector<int>& places,
                                           const proto::Type& element) const;
  // The numbers in the words of quantised places. `inverse_axes`: the field's index of each
  // physical axis; -1: none.
  proto::Word DescribeWord(const std::vector<int>& places,
                           const std::vector<int>& inverse_axes) const;

  // The whole tree in the form in which units state parts of it, with the same node numbers.
  // Places and words are nodes without geometry, which no storage names: PruneTrees
  // (common/layout/prune_trees.h) leaves them out.
  proto::TreePart DescribeTree() const;
  // An SNode itself, as a loop's or an SNode operation's parameter; `tree` is the number
  // under which the storage names this tree. Indices are in cells of the node.
  proto::Storage DescribeNode(int node, uint32_t tree) const;

 private:
  proto::Tree tree_;
  TreeShape shape_;
};

// A component of a field, in the tree of `layout`. `tree`: the number by which the field's
// storage names this tree.
struct TreePlace {
  const TreeLayout* layout;
  uint32_t tree;
  int place;
};

// The descriptor in tree form of a field whose components (element order) may be in several
// nodes and trees, along different axes. InvalidArgument unless all have the shape of the first.
// The first component's index offsets hold for all.
absl::StatusOr<proto::Storage> DescribeTreeField(const std::vector<TreePlace>& places,
                                                 const proto::Type& element);

// Structure checks of one storage descriptor off the wire: extents, strides and
// offsets that overflow, axes out of range, components outside the cell.
absl::Status CheckStorage(const proto::Storage& storage, const TreeParts& trees);
// The part of CheckStorage for the words of quantised storages. check_word.cc.
absl::Status CheckWord(const proto::Storage& storage, uint64_t elements);
// The same for a tree of a unit, and for a storage in such trees. check_tree.cc.
absl::Status CheckTree(const proto::TreePart& tree);
absl::Status CheckTreeStorage(const proto::Storage& storage, uint64_t elements,
                              const TreeParts& trees);
// Which of the storage's indices reach the cells of its node's parent, ascending: what
// SNODE_LENGTH and SNODE_APPEND take.
std::vector<int> IndicesAbove(const proto::TreePart& tree, const proto::TreeStorage& storage);

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_LAYOUT_H_
