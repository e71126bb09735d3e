// Shared by the files of Tree: a tree's sparse nodes with their cells, and the walk from the cells
// of one to the containers of the next. containers.h is what the kinds do with a container.
#ifndef KILN_RUNTIME_TREE_TREE_NODE_H_
#define KILN_RUNTIME_TREE_TREE_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cell_allocator.h"
#include "runtime/element_memory.h"
#include "runtime/fork_lock.h"
#include "runtime/storage.h"
#include "runtime/tree/tree.h"

namespace kiln {

struct TreeState;

// The index of a cell along its node's axes, updated while cell numbers grow: row by row, with
// divisions only for long jumps.
class CellIndex {
 public:
  // `at`: the indices of the container's cell 0; updated to those of the current cell.
  CellIndex(const std::vector<NodeLayout::Level>& levels, const int32_t* at);
  // Requires: `cell` is not before that of the last call.
  void MoveTo(uint64_t cell) {
    if (cell >= row_end_) NextRow(cell);
    at_[last_axis_] = first_ + static_cast<int32_t>(cell - row_start_);
  }
  const int32_t* at() const { return at_; }
  uint64_t row_end() const { return row_end_; }

 private:
  void NextRow(uint64_t cell);

  const std::vector<NodeLayout::Level>& levels_;
  const int32_t* base_;
  int last_axis_;
  int32_t first_;
  uint64_t row_;  // cells per row
  uint64_t row_start_ = 0, row_end_ = 0;
  int32_t at_[kMaxIndices];
};

// The containers of a node in one cell of an ancestor, with only dense levels between them.
class ContainerPath {
 public:
  ContainerPath() = default;
  // From the cells of `ancestor` down to the containers of `node`.
  ContainerPath(const TreeShape& shape, int ancestor, int node);

  uint64_t count() const { return count_; }
  // Container `number`, row-major level by level. `parent_at` and `at` (kMaxIndices entries): the
  // indices of the ancestor's cell, and of the container's cell 0 in cells of the node.
  uint8_t* Find(uint8_t* cell, uint64_t number, const int32_t* parent_at, int32_t* at) const;
  uint8_t* Find(uint8_t* cell, uint64_t number) const;

 private:
  struct Step {
    uint64_t cells, cell_bytes, offset;
    std::vector<NodeLayout::Level> levels;
  };
  std::vector<Step> steps_;                // dense levels, outermost first
  std::vector<NodeLayout::Level> levels_;  // of the node
  uint64_t offset_ = 0;
  uint64_t count_ = 1;
};

struct CachedList {
  std::shared_ptr<const ElementList> list;
  std::vector<uint64_t> versions;  // of the node and its sparse ancestors
};

struct SparseNode {
  SparseNode(TreeState* tree, int number, SparseNode* parent);

  // Whether the container is in the parent's dump cell, which stands in for a cell that could not
  // be activated: nothing may be activated in it.
  bool InParentDump(const void* address) const;
  // The address that an access to an inactive cell gets.
  uint8_t* Absent(CellAccess access) const {
    return access == CellAccess::kRead ? shared.ambient : nullptr;
  }
  void SetChanged();
  // The number of chunks in a directory.
  uint64_t num_chunks() const { return (cells + memory_cells - 1) / memory_cells; }

  // Cells or chunks, including those that wait for the collection.
  uint64_t CellsInUse() const;
  // Returns `count` of them to the allocator.
  void NoteCollected(uint64_t count);

  // Fills *slot with a cell, chunk or directory of `from`. Returns what *slot then holds, perhaps
  // from another thread; null if memory is exhausted.
  uint8_t* Fill(uint8_t** slot, CellAllocator* from);

  alignas(64) KilnNode shared = {};
  TreeState* const tree;
  const int number;
  const SNodeFacts& kind;
  const NodeLayout& layout;
  const uint64_t cells;  // per container
  const uint64_t cell_bytes;
  const uint64_t mask_offset;
  const uint64_t memory_cells;      // in one piece of `memory`, if the kind keeps memory
  SparseNode* const parent;         // the nearest sparse ancestor
  const ContainerPath path;         // from its cells, or the root's, to this node's containers
  std::vector<SparseNode*> nested;  // those whose parent is this one
  bool keeps_memory = false;        // this node or one below has cells of its own
  int memory_index = -1;            // among the nodes with cells of their own

  std::unique_ptr<CellAllocator> memory;       // cells or chunks
  std::unique_ptr<CellAllocator> directories;  // of chunks
  RetiredCells retired;                        // of cells, the only chunk, or directories
  std::atomic<uint64_t> collected{0};          // cells, chunks
  std::atomic<uint64_t> peak{0};               // of CellsInUse, as of the last collection

  // Guarded by the tree's list lock.
  uint64_t version = 0;
  CachedList lists[2];  // of cells, of slices
};

struct TreeState {
  TreeState(TreeShape shape, TreeOptions options);

  ~TreeState();

  // All of the tree's memory except the cells.
  Result<> Allocate();

  std::string Name(int node) const;
  // Why the node's cell could not be allocated.
  [[gnu::cold]] std::string Refusal(const SparseNode& node) const;

  Tree* self = nullptr;
  const TreeShape shape;
  const TreeOptions options;
  CellArena arena;
  uint64_t budget_bytes = 0;  // of the root
  std::unique_ptr<RootBuffer> root;
  std::unique_ptr<RootBuffer> stand_ins;            // ambient and dump cells
  std::vector<std::unique_ptr<SparseNode>> sparse;  // by node; null for others
  int memory_nodes = 0;                             // number of nodes with cells of their own

  ForkLock list_lock;
  std::shared_ptr<ElementMemory> element_memory = std::make_shared<ElementMemory>();
  std::atomic<uint64_t> lists_made{0}, lists_kept{0}, collections{0};
};

}  // namespace kiln

#endif  // KILN_RUNTIME_TREE_TREE_NODE_H_
