// The shape of an SNode tree as plain structs: what its data need at run time. TreeLayout
// (common/layout/layout.h) makes it; the runtime takes it, without protobuf.
#ifndef KILN_COMMON_LAYOUT_TREE_SHAPE_H_
#define KILN_COMMON_LAYOUT_TREE_SHAPE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/layout/snode_kinds.h"

namespace kiln {

inline constexpr int kMaxIndices = 12;
inline constexpr int kMaxTreeDepth = 32;
inline constexpr int64_t kMaxIndexOffset = int64_t{1} << 31;  // of the first index, either way
inline constexpr uint64_t kMaxTreeBytes = uint64_t{1} << 46;  // sums of a few do not overflow

// Of one container in a tree with sparse levels: numbers of cells are i32.
inline constexpr uint64_t kMaxContainerCells = (uint64_t{1} << 31) - 1;

struct NodeLayout {
  const SNodeFacts* kind = nullptr;  // never null in a TreeLayout
  int parent = -1;
  std::vector<int> children;     // in placement order
  uint64_t num_cells = 1;        // per container
  uint64_t cell_bytes = 0;       // from one cell to the next
  uint64_t container_bytes = 0;  // in the parent's cell
  uint64_t alignment = 1;        // of the container
  uint64_t offset = 0;           // within the parent's cell
  uint64_t mask_offset = 0;      // of the mask words in the container
  uint32_t chunk_cells = 0;      // lists: cells per chunk
  uint32_t bit_offset = 0;       // quantised place: of its digits in the word
  uint32_t exponent_offset = 0;  // quantised float: of its exponent in the word
  // Extent and index multiplier of each axis that this level divides, in axis order.
  struct Level {
    uint32_t axis;
    uint64_t extent;
    uint64_t multiplier;  // cells
  };
  std::vector<Level> levels;
};

// Node 0 is the root.
struct TreeShape {
  std::vector<NodeLayout> nodes;

  const NodeLayout& operator[](int node) const { return nodes[node]; }
  int size() const { return static_cast<int>(nodes.size()); }
  uint64_t root_bytes() const { return nodes[0].container_bytes; }
  // Whether cells of any node can be inactive.
  bool HasSparse() const {
    for (const NodeLayout& node : nodes) {
      if (node.kind->is_sparse) return true;
    }
    return false;
  }
  // The product of the extents of `axis` (physical) on the path to `node`; 1 if unused, the largest
  // number if it overflows.
  uint64_t AxisExtent(int node, uint32_t axis) const {
    uint64_t extent = 1;
    for (; node >= 0; node = nodes[node].parent) {
      for (const NodeLayout::Level& level : nodes[node].levels) {
        if (level.axis == axis && __builtin_mul_overflow(extent, level.extent, &extent)) {
          return ~uint64_t{0};
        }
      }
    }
    return extent;
  }
  // The node whose cells hold a place or, of quantised places, its word; and the byte offset in
  // the cell.
  std::pair<int, uint64_t> CellOf(int place) const {
    uint64_t offset = 0;
    int node = place;
    do {
      offset += nodes[node].offset;
      node = nodes[node].parent;
    } while (nodes[node].kind->is_word());
    return {node, offset};
  }
};

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_TREE_SHAPE_H_
