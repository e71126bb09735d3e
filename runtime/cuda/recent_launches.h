// The kernels that a device was given since the last synchronisation, for its errors: the driver
// does not say which kernel failed.
#ifndef KILN_RUNTIME_CUDA_RECENT_LAUNCHES_H_
#define KILN_RUNTIME_CUDA_RECENT_LAUNCHES_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/kernel_info.h"

namespace kiln::cuda {

// Thread-safe.
class RecentLaunches {
 public:
  void Note(const NamesInErrors& kernels);
  void Clear();
  // Where a failure of the device may come from: ", in kernel `fill`"; "" without launches.
  [[gnu::cold]] std::string Text() const;

 private:
  mutable std::mutex mutex_;
  std::vector<NamesInErrors> last_;  // a ring
  uint64_t count_ = 0;
};

}  // namespace kiln::cuda

#endif  // KILN_RUNTIME_CUDA_RECENT_LAUNCHES_H_
