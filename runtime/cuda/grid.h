// How many threads run a task. Any number is right (runtime/cuda_abi.h): these are the ones that
// keep a device busy and that have something to do.
#ifndef KILN_RUNTIME_CUDA_GRID_H_
#define KILN_RUNTIME_CUDA_GRID_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/kernel_info.h"

namespace kiln {

class Grid {
 public:
  // One block of one thread.
  Grid() = default;
  // Of a loop of the kernel. `resident`: so many blocks of the task run at once on the device.
  Grid(const TaskInfo& task, const KernelInfo& kernel, uint64_t resident);
  // Of what is not launched.
  static Grid Nothing() {
    Grid grid;
    grid.blocks_ = 0;
    return grid;
  }

  // Threads of a block.
  static uint32_t ThreadsOf(const TaskInfo& task);

  uint32_t threads() const { return threads_; }
  // Blocks of a launch with these arguments, and at most `most` (0: as many as pay). 0: there is
  // nothing to do, whatever the arguments.
  unsigned Blocks(const uint64_t* arguments, uint32_t most) const {
    const uint64_t blocks = factor_ == 0 ? blocks_ : BlocksFor(arguments);
    return static_cast<unsigned>(most == 0 ? blocks : std::min<uint64_t>(blocks, most));
  }

 private:
  struct Slot {
    uint32_t number;
    bool is_i32;
  };
  uint64_t BlocksFor(const uint64_t* arguments) const;

  uint32_t threads_ = 1;
  uint64_t blocks_ = 1;   // the most, if the length is in arguments
  uint64_t at_once_ = 1;  // iterations of a block, before its threads take others
  uint64_t factor_ = 0;   // of the length; 0: it is not in arguments
  std::vector<Slot> slots_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_GRID_H_
