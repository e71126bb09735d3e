// All active cells of a node.
#include <algorithm>
#include <cstring>

#include "runtime/tree/containers.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

using Visit = std::function<void(const CellRun&)>;

class Walker {
 public:
  Walker(const TreeState& tree, int node, bool make, const Visit& visit)
      : tree_(tree), make_(make), visit_(visit) {
    for (int n = node; n > 0; n = tree.shape[n].parent) way_.insert(way_.begin(), n);
  }

  void Run() {
    const int32_t at[kMaxIndices] = {};
    if (way_.empty()) return visit_({tree_.root->data(), 1, at});
    Level(0, tree_.root->data(), at);
  }

 private:
  // The cells of way_[depth] in `cell`, whose index is `parent_at`.
  void Level(size_t depth, uint8_t* cell, const int32_t* parent_at) {
    const NodeLayout& layout = tree_.shape[way_[depth]];
    uint8_t* container = cell + layout.offset;
    int32_t first[kMaxIndices];
    std::memcpy(first, parent_at, sizeof first);
    // The index of the container's first cell: the parent's index, refined by each level of this
    // node.
    for (const NodeLayout::Level& level : layout.levels) {
      first[level.axis] = static_cast<int32_t>(first[level.axis] * level.extent);
    }
    if (layout.levels.empty()) return Cells(depth, container, 1, first);  // a word of bits
    CellIndex index(layout.levels, first);
    auto run = [&](uint64_t number, uint8_t* at, uint64_t count) {
      while (count > 0) {
        index.MoveTo(number);
        // A CellRun's cells differ along one axis only, so a run of active cells is cut at the ends
        // of rows.
        const uint64_t in_row = std::min(count, index.row_end() - number);
        Cells(depth, at, in_row, index.at());
        number += in_row;
        at += in_row * layout.cell_bytes;
        count -= in_row;
      }
    };
    SparseNode* sparse = tree_.sparse[way_[depth]].get();
    if (sparse == nullptr) {
      run(0, container, layout.num_cells);
    } else {
      WithKind(*sparse, [&](auto kind) {
        kind.ForEachRun(*sparse, container, 0, sparse->cells, make_, run);
      });
    }
  }

  void Cells(size_t depth, uint8_t* cell, uint64_t count, const int32_t* at) {
    if (depth + 1 == way_.size()) return visit_({cell, count, at});
    // A list's cells whose chunk is missing (only without `make_`): they count, but contain
    // nothing.
    if (cell == nullptr) return;
    const NodeLayout& layout = tree_.shape[way_[depth]];
    int32_t own[kMaxIndices];
    std::memcpy(own, at, sizeof own);
    for (uint64_t i = 0; i < count; ++i) {
      Level(depth + 1, cell + i * layout.cell_bytes, own);
      if (!layout.levels.empty()) ++own[layout.levels.back().axis];
    }
  }

  const TreeState& tree_;
  std::vector<int> way_;  // below the root
  const bool make_;       // allocates the chunks that active cells lack
  const Visit& visit_;
};

}  // namespace

void Tree::ForEachRun(int node, const Visit& visit, HostAccess /*access*/) {
  Walker(*state_, node, /*make=*/true, visit).Run();
}

uint64_t Tree::CountActive(int node) {
  uint64_t count = 0;
  const Visit add = [&](const CellRun& run) { count += run.count; };
  Walker(*state_, node, /*make=*/false, add).Run();
  return count;
}

}  // namespace kiln
