// Memory of the lists of one tree: the memory of a freed list is reused for the next.
#ifndef KILN_RUNTIME_ELEMENT_MEMORY_H_
#define KILN_RUNTIME_ELEMENT_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/abi.h"
#include "runtime/fork_lock.h"

namespace kiln {

// Thread-safe. Outlives all blocks taken from it.
class ElementMemory {
 public:
  struct Block {
    KilnElement* elements = nullptr;  // 64-byte aligned
    uint64_t bytes = 0;
  };

  ElementMemory() = default;
  ~ElementMemory();

  // Uninitialised room for `count` elements; null if the system refuses.
  Block Take(uint64_t count);
  void Return(Block block);

  // Bytes in use and kept for reuse.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void Free(Block block);

  ForkLock lock_;
  std::vector<Block> kept_;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace kiln

#endif  // KILN_RUNTIME_ELEMENT_MEMORY_H_
