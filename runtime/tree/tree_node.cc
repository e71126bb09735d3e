#include "runtime/tree/tree_node.h"

#include <algorithm>
#include <cstring>

#include "runtime/device_lib/tree.h"

namespace kiln {

// ---- CellIndex

CellIndex::CellIndex(const std::vector<NodeLayout::Level>& levels, const int32_t* at)
    : levels_(levels), base_(at), last_axis_(static_cast<int>(levels.back().axis)) {
  std::memcpy(at_, at, sizeof at_);
  first_ = at[last_axis_];
  row_ = row_end_ = levels.back().extent;
}

void CellIndex::NextRow(uint64_t cell) {
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
  for (int n = shape[node].parent; n != ancestor && n > 0; n = shape[n].parent) {
    const NodeLayout& dense = shape[n];
    steps_.insert(steps_.begin(), {dense.num_cells, dense.cell_bytes, dense.offset, dense.levels});
    count_ *= dense.num_cells;
  }
}

uint8_t* ContainerPath::Find(uint8_t* cell, uint64_t number) const {
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
      const uint64_t digit = digits / level.multiplier % level.extent;
      at[level.axis] = static_cast<int32_t>(at[level.axis] * level.extent + digit);
    }
  }
  for (const NodeLayout::Level& level : levels_) {
    at[level.axis] = static_cast<int32_t>(at[level.axis] * level.extent);
  }
  return cell + offset_;
}

// ---- SparseNode

SparseNode::SparseNode(TreeState* tree, int number, SparseNode* parent)
    : tree(tree),
      number(number),
      kind(tree->shape[number].kind),
      layout(tree->shape[number]),
      cells(layout.num_cells),
      cell_bytes(layout.cell_bytes),
      mask_offset(layout.mask_offset),
      chunk_cells(layout.chunk_cells),
      parent(parent),
      path(tree->shape, parent == nullptr ? 0 : parent->number, number) {
  shared.state = this;
  if (kind == SNodeKind::kPointer) {
    memory = std::make_unique<CellAllocator>(&tree->arena, cell_bytes);
  } else if (kind == SNodeKind::kDynamic) {
    const uint64_t chunk = std::min(cells, chunk_cells);
    memory = std::make_unique<CellAllocator>(&tree->arena, chunk * cell_bytes);
    if (!one_chunk()) {
      directories = std::make_unique<CellAllocator>(&tree->arena, num_chunks() * sizeof(uint8_t*));
    }
  }
  if (memory == nullptr) return;
  memory_index = tree->memory_nodes++;
  for (SparseNode* n = this; n != nullptr; n = n->parent) n->keeps_memory = true;
}

bool SparseNode::InParentDump(const void* address) const {
  if (parent == nullptr) return false;
  const auto* at = static_cast<const uint8_t*>(address);
  return at >= parent->shared.dump && at < parent->shared.dump + parent->cell_bytes;
}

uint64_t SparseNode::Length(uint8_t* container) const {
  const auto* dynamic = reinterpret_cast<const DynamicContainer*>(container);
  return std::min<uint64_t>(__atomic_load_n(&dynamic->length, __ATOMIC_ACQUIRE), cells);
}

uint8_t* SparseNode::Chunk(uint8_t* container, uint64_t cell) const {
  auto* dynamic = reinterpret_cast<DynamicContainer*>(container);
  uint8_t* memory = __atomic_load_n(&dynamic->memory, __ATOMIC_ACQUIRE);
  if (memory == nullptr || one_chunk()) return memory;
  return __atomic_load_n(reinterpret_cast<uint8_t**>(memory) + cell / chunk_cells,
                         __ATOMIC_ACQUIRE);
}

// Tests first, as the device library does.
void SparseNode::SetChanged() {
  if (__atomic_load_n(&shared.changed, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&shared.changed, 1, __ATOMIC_RELAXED);
  }
}

uint64_t SparseNode::CellsInUse() const {
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
  if (__atomic_compare_exchange_n(slot, &found, made, /*weak=*/false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  from->GiveBack(made);
  return found;
}

uint8_t* SparseNode::Activate(uint8_t** slot) {
  if (InParentDump(static_cast<const void*>(slot))) return shared.dump;
  uint8_t* cell = Fill(slot, memory.get());
  if (cell != nullptr) SetChanged();
  return cell;
}

uint8_t* SparseNode::ActivateChunk(uint8_t* container, uint64_t chunk) {
  if (InParentDump(container)) return shared.dump;
  uint8_t** slot = &reinterpret_cast<DynamicContainer*>(container)->memory;
  if (!one_chunk()) {
    uint8_t* directory = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (directory == nullptr) directory = Fill(slot, directories.get());
    if (directory == nullptr) return nullptr;
    slot = reinterpret_cast<uint8_t**>(directory) + chunk;
  }
  uint8_t* made = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (made == nullptr) made = Fill(slot, memory.get());
  if (made != nullptr) SetChanged();
  return made;
}

void SparseNode::RaiseLength(uint8_t* container, uint64_t length) {
  auto* dynamic = reinterpret_cast<DynamicContainer*>(container);
  uint32_t now = __atomic_load_n(&dynamic->length, __ATOMIC_RELAXED);
  if (length <= now) return;
  while (now < length &&
         !__atomic_compare_exchange_n(&dynamic->length, &now, static_cast<uint32_t>(length),
                                      /*weak=*/true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  SetChanged();
}

int32_t SparseNode::Append(uint8_t* container, uint8_t** cell) {
  auto* dynamic = reinterpret_cast<DynamicContainer*>(container);
  uint32_t number = __atomic_load_n(&dynamic->length, __ATOMIC_RELAXED);
  // Allocates the chunk first, so that a failure has no effect. A thread that takes the number in
  // between leaves the next one for us.
  for (;;) {
    *cell = nullptr;
    if (number >= cells) return -1;
    const uint64_t chunk = one_chunk() ? 0 : number / chunk_cells;
    uint8_t* memory = ActivateChunk(container, chunk);
    if (memory == nullptr) return 0;
    *cell = memory + (number - chunk * chunk_cells) * cell_bytes;
    if (__atomic_compare_exchange_n(&dynamic->length, &number, number + 1, /*weak=*/false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      SetChanged();
      return static_cast<int32_t>(number);
    }
  }
}

bool SparseNode::IsActive(uint8_t* container, uint64_t cell) const {
  switch (kind) {
    case SNodeKind::kPointer:
      return kiln_pointer_is_active(container, cell) != 0;
    case SNodeKind::kBitmasked:
      return kiln_bitmasked_is_active(container + mask_offset, cell) != 0;
    default:
      return kiln_dynamic_is_active(container, cell) != 0;
  }
}

void SparseNode::Deactivate(uint8_t* container, uint64_t cell) {
  switch (kind) {
    case SNodeKind::kPointer: {
      uint8_t** slot = reinterpret_cast<uint8_t**>(container) + cell;
      if (__atomic_load_n(slot, __ATOMIC_RELAXED) == nullptr) return;
      uint8_t* old = __atomic_exchange_n(slot, nullptr, __ATOMIC_ACQ_REL);
      if (old == nullptr) return;
      retired.Add(old);
      break;
    }
    case SNodeKind::kBitmasked: {
      uint32_t* word = reinterpret_cast<uint32_t*>(container + mask_offset) + cell / 32;
      const uint32_t bit = uint32_t{1} << (cell % 32);
      if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0) return;
      if ((__atomic_fetch_and(word, ~bit, __ATOMIC_ACQ_REL) & bit) == 0) return;
      break;
    }
    case SNodeKind::kDynamic: {
      auto* dynamic = reinterpret_cast<DynamicContainer*>(container);
      if (__atomic_load_n(&dynamic->length, __ATOMIC_RELAXED) == 0 &&
          __atomic_load_n(&dynamic->memory, __ATOMIC_RELAXED) == nullptr) {
        return;
      }
      __atomic_store_n(&dynamic->length, 0, __ATOMIC_RELEASE);
      uint8_t* old = __atomic_exchange_n(&dynamic->memory, nullptr, __ATOMIC_ACQ_REL);
      if (old != nullptr) retired.Add(old);
      break;
    }
    default:
      return;
  }
  SetChanged();
}

}  // namespace kiln
