// The part of CudaTree that visits all active cells of a node.
#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_tree.h"
#include "runtime/device_lib/cuda_tree.h"
#include "runtime/device_lib/tree.h"

namespace kiln {

class CudaTree::Walker {
 public:
  using Visit = std::function<void(const CellRun&)>;
  Walker(const CudaTree& tree, int node, bool make, HostAccess access, const Visit& visit)
      : tree_(tree), make_(make), access_(access), visit_(visit) {
    for (int n = node; n > 0; n = tree.shape_[n].parent) way_.insert(way_.begin(), n);
  }

  void Run() {
    const int32_t at[kMaxIndices] = {};
    if (way_.empty()) return Visited(tree_.buffer_->data(), 1, tree_.shape_.root_bytes(), at);
    Below(0, tree_.buffer_->data(), at);
  }

 private:
  // The cells of way_[depth] in `cell`, whose index is `above`.
  void Below(size_t depth, uint8_t* cell, const int32_t* above) {
    const NodeLayout& layout = tree_.shape_[way_[depth]];
    uint8_t* container = cell + layout.offset;
    int32_t first[kMaxIndices];
    std::memcpy(first, above, sizeof first);
    for (const NodeLayout::Level& level : layout.levels) {
      first[level.axis] = static_cast<int32_t>(first[level.axis] * level.extent);
    }
    if (layout.levels.empty()) return Cells(depth, container, 1, first);  // a word of bits
    KilnCudaNode* sparse = tree_.sparse_[way_[depth]];
    if (sparse == nullptr) return Run(depth, 0, container, layout.num_cells, first);
    ForEachSparse(depth, sparse, container, first);
  }

  void ForEachSparse(size_t depth, KilnCudaNode* sparse, uint8_t* container, const int32_t* first) {
    const KilnCudaNode& node = *tree_.Mirror(sparse, HostAccess::kRead);
    if (node.kind == KILN_CUDA_DYNAMIC) {
      const uint64_t length = std::min<uint64_t>(
          tree_.Read(&reinterpret_cast<KilnList*>(container)->length), node.cells);
      for (uint64_t cell = 0; cell < length; cell += node.memory_cells) {
        const uint64_t chunk = cell / node.memory_cells;
        uint8_t* memory = tree_.Chunk(sparse, container, chunk);
        if (memory == nullptr && make_) {
          memory = tree_.ActivateChunk(sparse, container, chunk);
          if (memory == nullptr) continue;
        }
        Run(depth, cell, memory, std::min(node.memory_cells, length - cell), first);
      }
      return;
    }
    for (uint64_t cell = 0; cell < node.cells; ++cell) {
      uint8_t* at = container + cell * node.cell_bytes;
      if (node.kind == KILN_CUDA_POINTER) {
        at = tree_.Read(reinterpret_cast<uint8_t**>(container) + cell);
        if (at == nullptr) continue;
      } else {
        auto* words = reinterpret_cast<uint32_t*>(container + node.mask_offset);
        const uint32_t word = tree_.Read(words + cell / 32);
        if (word == 0) cell |= 31;
        if ((word >> (cell % 32) & 1) == 0) continue;
      }
      Run(depth, cell, at, 1, first);
    }
  }

  // Cuts neighbours at the ends of rows: a run's cells differ along one axis only.
  void Run(size_t depth, uint64_t number, uint8_t* cell, uint64_t count, const int32_t* first) {
    const NodeLayout& layout = tree_.shape_[way_[depth]];
    const uint64_t row = layout.levels.back().extent;
    while (count > 0) {
      int32_t at[kMaxIndices];
      std::memcpy(at, first, sizeof at);
      for (const NodeLayout::Level& level : layout.levels) {
        at[level.axis] += static_cast<int32_t>(number / level.multiplier % level.extent);
      }
      const uint64_t in_row = std::min(count, row - number % row);
      Cells(depth, cell, in_row, at);
      number += in_row;
      if (cell != nullptr) cell += in_row * layout.cell_bytes;
      count -= in_row;
    }
  }

  void Cells(size_t depth, uint8_t* cell, uint64_t count, const int32_t* at) {
    const NodeLayout& layout = tree_.shape_[way_[depth]];
    if (depth + 1 == way_.size()) return Visited(cell, count, layout.cell_bytes, at);
    if (cell == nullptr) return;  // a list's cells without a chunk contain nothing
    int32_t own[kMaxIndices];
    std::memcpy(own, at, sizeof own);
    for (uint64_t i = 0; i < count; ++i) {
      Below(depth + 1, cell + i * layout.cell_bytes, own);
      if (!layout.levels.empty()) ++own[layout.levels.back().axis];
    }
  }

  void Visited(uint8_t* cell, uint64_t count, uint64_t stride, const int32_t* at) {
    // A count does not look at the cells.
    uint8_t* host = nullptr;
    if (cell != nullptr && make_) {
      host = tree_.Mirror(static_cast<const void*>(cell), count * stride, access_);
    }
    visit_({host, count, at});
    if (host != nullptr && access_ != HostAccess::kRead) tree_.Deliver(cell, count * stride);
  }

  const CudaTree& tree_;
  std::vector<int> way_;  // below the root
  const bool make_;       // allocates the chunks that active cells lack
  const HostAccess access_;
  const Visit& visit_;
};

void CudaTree::ForEachRun(int node, const std::function<void(const CellRun&)>& visit,
                          HostAccess access) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Walker(*this, node, /*make=*/true, access, visit).Run();
  device_->Keep(TakeFailure());
}

uint64_t CudaTree::CountActive(int node) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  uint64_t count = 0;
  const std::function<void(const CellRun&)> add = [&](const CellRun& run) { count += run.count; };
  Walker(*this, node, /*make=*/false, HostAccess::kRead, add).Run();
  device_->Keep(TakeFailure());
  return count;
}

}  // namespace kiln
