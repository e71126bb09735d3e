// Memory of the lists of one tree: what a list gives up serves for the next one.
#ifndef KILN_RUNTIME_ELEMENT_MEMORY_H_
#define KILN_RUNTIME_ELEMENT_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/abi.h"
#include "runtime/fork_lock.h"

namespace kiln {

// Thread-safe. Outlives all blocks that were taken.
class ElementMemory {
 public:
  struct Block {
    KilnElement* elements = nullptr;  // 64-byte aligned
    uint64_t bytes = 0;
  };

  ElementMemory() = default;
  ~ElementMemory();

  // Room for `count` elements, of any content; null where the system refuses.
  Block Take(uint64_t count);
  void Return(Block block);

  // In use and kept.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void Free(Block block);

  ForkLock lock_;
  std::vector<Block> kept_;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace kiln

#endif  // KILN_RUNTIME_ELEMENT_MEMORY_H_
