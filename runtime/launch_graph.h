// Launches that a device starts at once.
#ifndef KILN_RUNTIME_LAUNCH_GRAPH_H_
#define KILN_RUNTIME_LAUNCH_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/random.h"
#include "runtime/result.h"

namespace kiln {

class LoadedKernel;

// Device::MakeGraph makes one. Not thread-safe before Finish; Launch is thread-safe.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  // Adds a launch behind the others; `arguments` as of LoadedKernel::Launch. Unimplemented if the
  // host has to wait for launches of the kernel: it has results, prints, checks or tapes. `name`:
  // the kernel's in errors. Requires: the kernel is the device's, and Finish was not called.
  virtual Result<> Add(std::shared_ptr<const LoadedKernel> kernel, const uint64_t* arguments,
                       const std::string& name) = 0;
  // After the last one.
  virtual Result<> Finish() = 0;
  // Starts all of them, in order, with `arguments`: those of each launch, one after the other. They
  // may differ from those of Add in what parameters take: numbers, and addresses and extents of
  // arrays. Null: those of the last start, or of Add before the first. `random` is called for each
  // launch that draws random numbers, which follow from its result (LaunchOptions::random).
  // Requires: Finish succeeded, and the memory of all arguments exists.
  virtual Result<> Launch(const uint64_t* arguments, const std::function<uint64_t()>& random) = 0;
  // The same with the random numbers of launches one by one.
  Result<> Launch(const uint64_t* arguments = nullptr) {
    return Launch(arguments, NextLaunchRandom);
  }
};

}  // namespace kiln

#endif  // KILN_RUNTIME_LAUNCH_GRAPH_H_
