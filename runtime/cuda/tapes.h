// The memory on a device for the tapes of gradients (KilnCudaTapes).
#ifndef KILN_RUNTIME_CUDA_TAPES_H_
#define KILN_RUNTIME_CUDA_TAPES_H_

#include <cstdint>
#include <mutex>

#include "runtime/cuda/driver.h"
#include "runtime/result.h"

namespace kiln::cuda {

// Launches share the tapes: they come one after the other. Their memory is ThreadTape::GivenLimit,
// or else a part of the device's. Never frees it at the end, as the device never ends. Thread-safe.
class Tapes {
 public:
  explicit Tapes(const Driver& driver) : driver_(driver) {}

  // The empty tapes of all threads, for the next launch. `stream`: of the launch's turn. Requires:
  // the thread has entered the device's context.
  Result<Address> Clear(Stream stream);

 private:
  [[gnu::cold]] Result<> Allocate(uint64_t bytes, Stream stream);

  const Driver& driver_;
  std::mutex mutex_;  // of the members below
  Address tapes_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace kiln::cuda

#endif  // KILN_RUNTIME_CUDA_TAPES_H_
