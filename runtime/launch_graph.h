// Launches with fixed arguments that a device starts at once.
#ifndef KILN_RUNTIME_LAUNCH_GRAPH_H_
#define KILN_RUNTIME_LAUNCH_GRAPH_H_

#include <cstdint>
#include <memory>

#include "runtime/result.h"

namespace kiln {

class LoadedKernel;

// Device::MakeGraph makes one. Not thread-safe before Finish; Launch is thread-safe.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  // Adds a launch behind the others; `arguments` as of LoadedKernel::Launch. Unimplemented if the
  // host has to wait for launches of the kernel: it has results, prints, checks or tapes. Requires:
  // the kernel is the device's, and Finish was not called.
  virtual Result<> Add(std::shared_ptr<const LoadedKernel> kernel, const uint64_t* arguments) = 0;
  // After the last one.
  virtual Result<> Finish() = 0;
  // Starts all of them, in order. Their random numbers are those of launches one by one. Requires:
  // Finish succeeded, and the memory of all arguments exists.
  virtual Result<> Launch() = 0;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_LAUNCH_GRAPH_H_
