// Deactivates all cells of a node, and of those below it: whole containers at a time.
#include <algorithm>

#include "runtime/cpu/parallel_for.h"
#include "runtime/tree/containers.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

// Slots, words or lists that one thread takes at a time: some ten microseconds.
constexpr uint64_t kPiece = 4096;
// Pieces that are recorded before they are processed.
// Bounds the memory of the record; a tree may have millions of containers.
constexpr uint64_t kBatch = 1024;

// Part of one container, or all of it.
struct Part {
  SparseNode* node;
  uint8_t* container;
  uint64_t begin, end;  // cells
};

// The nodes that are sparse or have sparse nodes below.
std::vector<bool> SparseBelow(const TreeState& tree) {
  std::vector<bool> below(tree.sparse.size());
  for (const auto& sparse : tree.sparse) {
    if (sparse == nullptr) continue;
    // Stops at a marked node: its ancestors are marked already, so each node is visited once.
    for (int n = sparse->number; n > 0 && !below[n]; n = tree.shape[n].parent) below[n] = true;
  }
  return below;
}

class Deactivation {
 public:
  explicit Deactivation(const TreeState& tree) : tree_(tree), sparse_below_(SparseBelow(tree)) {}

  // Records the containers of `node` in one cell of its parent; if it is not sparse, those of the
  // next sparse nodes below.
  void Add(int node, uint8_t* cell) {
    ForEachContainer(node, cell, [this](SparseNode* sparse, uint8_t* container) {
      WithKind(*sparse, [&](auto kind) { AddContainer(kind, sparse, container); });
    });
  }

  // Deactivates the recorded containers.
  void Finish() {
    piece_ends_.push_back(parts_.size());
    ParallelFor(tree_.options.executor, static_cast<int64_t>(piece_ends_.size()), 0,
                [this](int64_t p) {
                  // Bags of the piece's own: one lock per node and piece instead of one per cell.
                  std::vector<CellBag> taken(tree_.memory_nodes);
                  for (size_t i = p == 0 ? 0 : piece_ends_[p - 1]; i < piece_ends_[p]; ++i) {
                    Take(parts_[i], &taken);
                  }
                  for (const auto& node : tree_.sparse) {
                    if (node == nullptr || node->memory == nullptr) continue;
                    node->retired.Add(std::move(taken[node->memory_index]));
                  }
                });
    parts_.clear();
    piece_ends_.clear();
    weight_ = 0;
  }

 private:
  template <typename Kind>
  void AddContainer(Kind, SparseNode* node, uint8_t* container) {
    // Parts begin at multiples of kStep: two threads must not clear bits of one mask word.
    if (!Kind::kDivisible) return AddPart({node, container, 0, node->cells}, 1);
    constexpr uint64_t kMost = kPiece * Kind::kStep;
    for (uint64_t begin = 0; begin < node->cells; begin += kMost) {
      const uint64_t end = std::min(begin + kMost, node->cells);
      AddPart({node, container, begin, end}, (end - begin) / Kind::kStep + 1);
    }
  }

  void AddPart(const Part& part, uint64_t weight) {
    parts_.push_back(part);
    // Pieces of equal weight, not of equally many parts: containers may have 1 cell or millions.
    weight_ += weight;
    if (weight_ < kPiece) return;
    weight_ = 0;
    piece_ends_.push_back(parts_.size());
    if (piece_ends_.size() >= kBatch) Finish();
  }

  template <typename Each>
  void ForEachContainer(int node, uint8_t* cell, const Each& each) const {
    if (!sparse_below_[node]) return;
    const NodeLayout& layout = tree_.shape[node];
    uint8_t* container = cell + layout.offset;
    if (SparseNode* sparse = tree_.sparse[node].get()) return each(sparse, container);
    for (uint64_t i = 0; i < layout.num_cells; ++i) {
      ForEachChild(node, container + i * layout.cell_bytes, each);
    }
  }

  template <typename Each>
  void ForEachChild(int node, uint8_t* cell, const Each& each) const {
    for (const int child : tree_.shape[node].children) {
      ForEachContainer(child, cell, each);
    }
  }

  void Take(const Part& part, std::vector<CellBag>* taken) const {
    SparseNode& node = *part.node;
    CellBag* own = node.memory == nullptr ? nullptr : &(*taken)[node.memory_index];
    // Cells with memory of their own are not descended into: their address goes to the bag, and the
    // collection finds what is below. Only cells that stay in place are cleared here.
    const auto below = [&](uint8_t* cell) {
      ForEachChild(node.number, cell, [&](SparseNode* nested, uint8_t* container) {
        Take({nested, container, 0, nested->cells}, taken);
      });
    };
    const bool any = WithKind(node, [&](auto kind) {
      return kind.DeactivateAll(node, part.container, part.begin, part.end, own, below);
    });
    if (any) node.SetChanged();
  }

  const TreeState& tree_;
  const std::vector<bool> sparse_below_;
  std::vector<Part> parts_;
  std::vector<size_t> piece_ends_;  // of parts_
  uint64_t weight_ = 0;             // of the last piece so far
};

}  // namespace

void Tree::DeactivateAll(int node) {
  Deactivation all(*state_);
  if (node == 0) {
    for (const int child : shape()[0].children) {
      all.Add(child, root());
    }
    return all.Finish();
  }
  // The containers of the node are in the active cells of its parent, wherever those are.
  const int above = shape()[node].parent;
  const uint64_t stride = shape()[above].cell_bytes;
  ForEachRun(above, [&](const CellRun& run) {
    for (uint64_t i = 0; i < run.count; ++i) all.Add(node, run.cell + i * stride);
  });
  all.Finish();
}

}  // namespace kiln
