#include "runtime/element_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace kiln {
namespace {

// Memory that is ready for the next list: mapping it anew costs page faults in each launch.
constexpr size_t kKept = 4;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

}  // namespace

ElementMemory::~ElementMemory() {
  for (const Block& block : kept_) Free(block);
}

ElementMemory::Block ElementMemory::Take(uint64_t count) {
  uint64_t bytes = std::max<uint64_t>(count, 1) * sizeof(KilnElement);
  {
    ForkLockGuard guard(lock_);
    for (Block& block : kept_) {
      // Reusing a much longer list's memory would keep it allocated forever.
      if (block.bytes < bytes || block.bytes > 4 * bytes + 65536) continue;
      const Block found = block;
      block = kept_.back();
      kept_.pop_back();
      return found;
    }
  }
  bytes += bytes / 4;  // the next list is often a little longer
  const uint64_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) return {};
  if (alignment == kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return {static_cast<KilnElement*>(memory), bytes};
}

void ElementMemory::Return(Block block) {
  {
    ForkLockGuard guard(lock_);
    kept_.push_back(block);
    if (kept_.size() <= kKept) return;
    block = kept_.front();
    // The oldest of four goes. Programs alternate between a few lists, and their memory is reused
    // in turn.
    kept_.erase(kept_.begin());
  }
  Free(block);
}

void ElementMemory::Free(Block block) {
  std::free(block.elements);
  bytes_.fetch_sub(block.bytes, std::memory_order_relaxed);
}

}  // namespace kiln
