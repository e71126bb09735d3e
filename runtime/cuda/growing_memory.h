// Addresses of a CUDA device of which only the first have memory, by the driver's management of
// virtual memory. More of them get memory later, while all addresses stay as they are.
#ifndef KILN_RUNTIME_CUDA_GROWING_MEMORY_H_
#define KILN_RUNTIME_CUDA_GROWING_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/result.h"

namespace kiln {

class CudaDevice;

// Not thread-safe.
class GrowingMemory {
 public:
  // At least `bytes` of addresses, without memory. Unimplemented where the device or its driver
  // lacks them.
  static Result<std::unique_ptr<GrowingMemory>> Reserve(CudaDevice* device, uint64_t bytes);
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;
  // Waits for the device, which may still use the memory.
  ~GrowingMemory();

  cuda::Address address() const { return address_; }
  uint64_t reserved() const { return reserved_; }
  uint64_t committed() const { return committed_; }
  // Memory comes in multiples of so many bytes, a power of two and at least 64 KiB.
  uint64_t step() const { return step_; }

  // Gives the next `bytes`, rounded down to steps, memory with anything in it. Requires: they are
  // reserved. ResourceExhausted if the device has too little; then nothing has changed.
  Result<> Commit(uint64_t bytes);

 private:
  GrowingMemory(CudaDevice* device, uint64_t step) : device_(device), step_(step) {}

  CudaDevice* const device_;
  const uint64_t step_;
  cuda::Address address_ = 0;
  uint64_t reserved_ = 0, committed_ = 0;
  std::vector<uint64_t> pieces_;  // bytes of each Commit, which are unmapped one by one
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_GROWING_MEMORY_H_
