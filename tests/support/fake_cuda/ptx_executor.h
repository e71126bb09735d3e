// Runs launches of programs: the blocks of a grid in random order on a few threads.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_EXECUTOR_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_EXECUTOR_H_

#include <cstdint>

#include "tests/support/fake_cuda/warp.h"

namespace kiln::fake_cuda {

// Sets all of `grid` but what its constructor sets. `parameters` has the entry's bytes.
void PrepareGrid(const Program& program, const Function& entry, const uint32_t blocks[3],
                 const uint32_t threads[3], uint64_t dynamic_shared_bytes, Grid* grid);

// Returns when all threads have ended or one has failed, and grid->fault says why. The order of
// blocks and warps follows from the seed, how `host_threads` interleave does not. Blocks that wait
// for other blocks are suspended in turn. Adds the instructions of all lanes' warps to
// *instructions.
void RunGrid(Grid* grid, uint32_t seed, int host_threads, int64_t* instructions);

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_EXECUTOR_H_
