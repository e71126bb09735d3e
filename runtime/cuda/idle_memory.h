// Blocks of a device's memory that nothing uses at present, kept for later use: to free one would
// wait for the device, and so for all launches.
#ifndef KILN_RUNTIME_CUDA_IDLE_MEMORY_H_
#define KILN_RUNTIME_CUDA_IDLE_MEMORY_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/cuda/driver.h"

namespace kiln::cuda {

// Owns the blocks in it, but never frees one: the caller that takes a block does. Thread-safe.
class IdleMemory {
 public:
  // The last block of exactly so many bytes; 0: there is none.
  Address Take(uint64_t bytes);
  // False: there is now more than pays to keep. All should be freed at once, because each call of
  // the driver waits for the device.
  bool Put(Address memory, uint64_t bytes);
  std::vector<Address> TakeAll();
  uint64_t bytes() const;

 private:
  struct Block {
    uint64_t bytes;
    Address memory;
  };
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  // the last one became idle last
  uint64_t bytes_ = 0;
};

}  // namespace kiln::cuda

#endif  // KILN_RUNTIME_CUDA_IDLE_MEMORY_H_
