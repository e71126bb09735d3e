// The part of CudaTree that finds and activates cells for the host, on the mirror.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_tree.h"
#include "runtime/device_lib/cuda_tree.h"
#include "runtime/device_lib/tree.h"

namespace kiln {

uint8_t* CudaTree::Mirror(const void* at, uint64_t bytes, HostAccess access) const {
  const uint64_t offset = static_cast<const uint8_t*>(at) - buffer_->data();
  KILN_CHECK(offset < this->bytes()) << "an address outside of a tree";
  bytes = std::min(bytes, this->bytes() - offset);
  if (Result<> touched = buffer_->Touch(offset, bytes, access); !touched.ok() && failure_.ok()) {
    failure_ = touched;
  }
  return buffer_->host() + offset;
}

void CudaTree::Deliver(const void* at, uint64_t bytes) const {
  if (!buffer_->is_shared()) return;
  const uint64_t offset = static_cast<const uint8_t*>(at) - buffer_->data();
  if (Result<> done = buffer_->Deliver(offset, bytes); !done.ok() && failure_.ok()) failure_ = done;
}

Result<> CudaTree::TakeFailure() const {
  if (failure_.ok()) return device_->TakeNotice();
  return std::exchange(failure_, Result<>());
}

uint8_t* CudaTree::Take(KilnCudaPool* pool) const {
  KilnCudaPool& own = *Mirror(pool, HostAccess::kWrite);
  KilnCudaBlock* block = own.free;
  if (block != nullptr) {
    own.free = Read(&block->next);
  } else {
    KilnCudaTree& tree = *Mirror(tree_, HostAccess::kWrite);
    const uint64_t bytes = kiln_cuda_block_bytes(own.bytes);
    // Grow writes to the same mirror.
    if (bytes > static_cast<uint64_t>(tree.end - tree.next)) {
      Grow(bytes);
      if (bytes > static_cast<uint64_t>(tree.end - tree.next)) return nullptr;
    }
    block = reinterpret_cast<KilnCudaBlock*>(tree.next);
    tree.next += bytes;
    if (reinterpret_cast<cuda::Address>(tree.next) > tree.mark) Grow(0);
  }
  ++own.made;
  return reinterpret_cast<uint8_t*>(block + 1);
}

uint8_t* CudaTree::Fill(KilnCudaPool* pool, uint8_t** slot) const {
  uint8_t* found = Read(slot);
  if (found != nullptr) return found;
  found = Take(pool);
  if (found != nullptr) Write(slot, found);
  return found;
}

uint8_t* CudaTree::ActivateChunk(KilnCudaNode* node, uint8_t* container, uint64_t chunk) const {
  uint8_t** slot = &reinterpret_cast<KilnList*>(container)->memory;
  if (Read(&node->chunks) > 0) {
    uint8_t* directory = Fill(&node->directories, slot);
    if (directory == nullptr) return nullptr;
    slot = reinterpret_cast<uint8_t**>(directory) + chunk;
  }
  uint8_t* made = Fill(&node->memory, slot);
  if (made != nullptr) SetChanged(node);
  return made;
}

uint8_t* CudaTree::Chunk(KilnCudaNode* node, uint8_t* container, uint64_t chunk) const {
  uint8_t* memory = Read(&reinterpret_cast<KilnList*>(container)->memory);
  if (memory == nullptr || Read(&node->chunks) == 0) return memory;
  return Read(reinterpret_cast<uint8_t**>(memory) + chunk);
}

// The cell of a sparse node, as the device's address; null as for CellAccess and without memory.
uint8_t* CudaTree::Find(KilnCudaNode* node, uint8_t* container, uint64_t cell,
                        CellAccess access) const {
  const KilnCudaNode& own = *Mirror(node, HostAccess::kRead);
  uint8_t* const absent = access == CellAccess::kRead ? own.shared.ambient : nullptr;
  const bool write = access == CellAccess::kWrite;
  if (own.kind == KILN_CUDA_POINTER) {
    uint8_t** slot = reinterpret_cast<uint8_t**>(container) + cell;
    uint8_t* found = Read(slot);
    if (found != nullptr || !write) return found != nullptr ? found : absent;
    found = Fill(&node->memory, slot);
    if (found != nullptr) SetChanged(node);
    return found;
  }
  if (own.kind == KILN_CUDA_BITMASKED) {
    auto* word = reinterpret_cast<uint32_t*>(container + own.mask_offset) + cell / 32;
    const uint32_t bit = uint32_t{1} << (cell % 32);
    const uint32_t bits = Read(word);
    if ((bits & bit) == 0) {
      if (access == CellAccess::kFind) return nullptr;
      if (write) {
        Write(word, bits | bit);
        SetChanged(node);
      }
    }
    return container + cell * own.cell_bytes;
  }
  auto* list = reinterpret_cast<KilnList*>(container);
  const uint64_t length = Read(&list->length);
  if (!write && cell >= length) return absent;
  const uint64_t chunk = cell / own.memory_cells;
  uint8_t* memory = Chunk(node, container, chunk);
  if (memory == nullptr && write) memory = ActivateChunk(node, container, chunk);
  if (memory == nullptr) return write ? nullptr : absent;
  if (cell >= length) {
    Write(&list->length, static_cast<uint32_t>(cell) + 1);
    SetChanged(node);
  }
  return memory + cell % own.memory_cells * own.cell_bytes;
}

Error CudaTree::Beyond(int node, uint32_t axis, const int64_t* at) const {
  return {ErrorCode::kOutOfRange,
          "index " + std::to_string(at[axis]) + " along axis " + std::to_string(axis) +
              " of SNode S" + std::to_string(node) + ", which has " +
              std::to_string(shape_.AxisExtent(node, axis)) + " cells there"};
}

Result<std::vector<CudaTree::Level>> CudaTree::WayTo(int node, const int64_t* at) const {
  std::vector<Level> way;
  std::array<uint64_t, kMaxIndices> rest = {};
  uint32_t axes = 0;
  for (int n = node; n > 0; n = shape_[n].parent) {
    uint64_t cell = 0;
    for (const NodeLayout::Level& level : shape_[n].levels) {
      // The first level of an axis on the way up sees the whole index.
      if ((axes >> level.axis & 1) == 0) {
        axes |= uint32_t{1} << level.axis;
        if (at[level.axis] < 0) return Beyond(node, level.axis, at);
        rest[level.axis] = static_cast<uint64_t>(at[level.axis]);
      }
      cell += rest[level.axis] % level.extent * level.multiplier;
      rest[level.axis] /= level.extent;
    }
    way.push_back({n, cell});
  }
  for (uint32_t axis = 0; axis < kMaxIndices; ++axis) {
    if (rest[axis] != 0) return Beyond(node, axis, at);
  }
  std::reverse(way.begin(), way.end());
  return way;
}

Result<uint8_t*> CudaTree::Locate(int node, const int64_t* at, CellAccess access) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Result<std::vector<Level>> way = WayTo(node, at);
  if (!way.ok()) return way.error();
  uint8_t* cell = buffer_->data();
  for (const Level& level : *way) {
    const NodeLayout& layout = shape_[level.node];
    uint8_t* container = cell + layout.offset;
    if (sparse_[level.node] == nullptr) {
      // The cells of a word are its bits.
      cell = container + (layout.kind->is_word() ? 0 : level.cell * layout.cell_bytes);
      continue;
    }
    cell = Find(sparse_[level.node], container, level.cell, access);
    if (Result<> done = TakeFailure(); !done.ok()) return done.error();
    if (cell == nullptr) {
      if (access == CellAccess::kFind) return cell;
      return Error{ErrorCode::kResourceExhausted, Refusal(level.node, "")};
    }
  }
  const auto wanted = access == CellAccess::kRead ? HostAccess::kRead : HostAccess::kWrite;
  // No byte beside a value or word: the host may have written there, and not delivered it yet.
  const NodeLayout& parent = shape_[std::max(shape_[node].parent, 0)];
  const NodeLayout& own = parent.kind->is_word() ? parent : shape_[node];
  const uint64_t bytes = std::min<uint64_t>(own.cell_bytes, sizeof(uint64_t));
  uint8_t* host = Mirror(static_cast<const void*>(cell), bytes, wanted);
  if (Result<> done = TakeFailure(); !done.ok()) return done.error();
  return host;
}

}  // namespace kiln
