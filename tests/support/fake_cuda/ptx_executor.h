// Runs PTX, thread after thread.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_EXECUTOR_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/fake_cuda/ptx_program.h"

namespace kiln::ptx {

struct Grid {
  uint32_t blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
};

// The host's address of `bytes` of the device's memory at `address`; null if they are not
// allocated.
using Resolve = std::function<uint8_t*(uint64_t address, uint64_t bytes)>;

// Runs an entry. Returns "" or what went wrong: "line 12 of task_0: reads 4 bytes at 0x10".
std::string Run(const Module& module, const Function& entry, const Grid& grid,
                const void* parameters, const Resolve& resolve);

}  // namespace kiln::ptx

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_EXECUTOR_H_
