#include "runtime/tree/tree_node.h"

#include <algorithm>
#include <cstring>

namespace kiln {
namespace {

// Cells that are allocated together.
uint64_t CellsOfMemory(const NodeLayout& node) {
  return node.kind->cells == CellsAre::kInChunks
             ? std::min<uint64_t>(node.num_cells, node.chunk_cells)
             : 1;
}

}  // namespace

// ---- CellIndex

CellIndex::CellIndex(const std::vector<NodeLayout::Level>& levels, const int32_t* at)
    : levels_(levels), base_(at), last_axis_(static_cast<int>(levels.back().axis)) {
  std::memcpy(at_, at, sizeof at_);
  // A row is the extent of the innermost level. Within it, one axis counts up and the others stay.
  first_ = at[last_axis_];
  row_ = row_end_ = levels.back().extent;
}

void CellIndex::NextRow(uint64_t cell) {
  // The digits of the row's number, innermost first; the last level's digit is the position in the
  // row.
  const uint64_t row = cell / row_;
  row_start_ = row * row_;
  row_end_ = row_start_ + row_;
  uint64_t rest = row;
  for (size_t level = levels_.size() - 1; level-- > 0;) {
    const auto axis = static_cast<int>(levels_[level].axis);
    at_[axis] = base_[axis] + static_cast<int32_t>(rest % levels_[level].extent);
    rest /= levels_[level].extent;
  }
}

// ---- ContainerPath

ContainerPath::ContainerPath(const TreeShape& shape, int ancestor, int node)
    : levels_(shape[node].levels), offset_(shape[node].offset) {
  // Only dense levels come between: the ancestor is the nearest sparse one, or the root.
  for (int n = shape[node].parent; n != ancestor && n > 0; n = shape[n].parent) {
    const NodeLayout& dense = shape[n];
    steps_.insert(steps_.begin(), {dense.num_cells, dense.cell_bytes, dense.offset, dense.levels});
    count_ *= dense.num_cells;
  }
}

uint8_t* ContainerPath::Find(uint8_t* cell, uint64_t number) const {
  // Mixed radix: `below` is the number of containers under one cell of the current step.
  uint64_t below = count_;
  for (const Step& step : steps_) {
    below /= step.cells;
    cell += step.offset + number / below * step.cell_bytes;
    number %= below;
  }
  return cell + offset_;
}

uint8_t* ContainerPath::Find(uint8_t* cell, uint64_t number, const int32_t* parent_at,
                             int32_t* at) const {
  std::memcpy(at, parent_at, kMaxIndices * sizeof *at);
  uint64_t below = count_;
  for (const Step& step : steps_) {
    below /= step.cells;
    const uint64_t digits = number / below;
    cell += step.offset + digits * step.cell_bytes;
    number %= below;
    for (const NodeLayout::Level& level : step.levels) {
      // Each level refines the index along its axis: times the extent, plus the digit within the
      // level.
      const uint64_t digit = digits / level.multiplier % level.extent;
      at[level.axis] = static_cast<int32_t>(at[level.axis] * level.extent + digit);
    }
  }
  // The container's own cells count along the node's axes, too; its cell 0 has digit 0 in each.
  for (const NodeLayout::Level& level : levels_) {
    at[level.axis] = static_cast<int32_t>(at[level.axis] * level.extent);
  }
  return cell + offset_;
}

// ---- SparseNode

SparseNode::SparseNode(TreeState* tree, int number, SparseNode* parent)
    : tree(tree),
      number(number),
      kind(*tree->shape[number].kind),
      layout(tree->shape[number]),
      cells(layout.num_cells),
      cell_bytes(layout.cell_bytes),
      mask_offset(layout.mask_offset),
      memory_cells(CellsOfMemory(layout)),
      parent(parent),
      path(tree->shape, parent == nullptr ? 0 : parent->number, number) {
  shared.state = this;
  if (kind.keeps_memory()) {
    memory = std::make_unique<CellAllocator>(&tree->arena, memory_cells * cell_bytes);
  }
  if (kind.cells == CellsAre::kInChunks && memory_cells < cells) {
    directories = std::make_unique<CellAllocator>(&tree->arena, num_chunks() * sizeof(uint8_t*));
  }
  if (memory == nullptr) return;
  memory_index = tree->memory_nodes++;
  // Ancestors, too: to free a cell, the collection has to walk through it to this node's memory.
  for (SparseNode* n = this; n != nullptr; n = n->parent) n->keeps_memory = true;
}

bool SparseNode::InParentDump(const void* address) const {
  if (parent == nullptr) return false;
  const auto* at = static_cast<const uint8_t*>(address);
  return at >= parent->shared.dump && at < parent->shared.dump + parent->cell_bytes;
}

// Tests first, as the device library does.
void SparseNode::SetChanged() {
  if (__atomic_load_n(&shared.changed, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&shared.changed, 1, __ATOMIC_RELAXED);
  }
}

uint64_t SparseNode::CellsInUse() const {
  // Read without a lock, so the difference of the two may be negative for a moment.
  const uint64_t gone = collected.load(std::memory_order_relaxed);
  return std::max(memory->taken(), gone) - gone;
}

// The number only decreases here: the peak is the value before.
void SparseNode::NoteCollected(uint64_t count) {
  const uint64_t now = CellsInUse();
  uint64_t most = peak.load(std::memory_order_relaxed);
  while (most < now && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  collected.fetch_add(count, std::memory_order_relaxed);
}

uint8_t* SparseNode::Fill(uint8_t** slot, CellAllocator* from) {
  uint8_t* made = from->Take();
  if (made == nullptr) return nullptr;
  uint8_t* found = nullptr;
  // Release publishes the cleared cell with its address. Of threads that race, one wins, and the
  // others return their unused cells.
  if (__atomic_compare_exchange_n(slot, &found, made, /*weak=*/false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  from->GiveBack(made);
  return found;
}

}  // namespace kiln
