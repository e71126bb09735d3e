// The kernel of the runtime's own that works on trees (runtime/device_lib/cuda_tree_kernels.cc).
#ifndef KILN_RUNTIME_CUDA_TREE_WORK_H_
#define KILN_RUNTIME_CUDA_TREE_WORK_H_

#include <cstdint>

#include "runtime/cuda/driver.h"
#include "runtime/result.h"

namespace kiln {

class CudaDevice;

namespace cuda {

// Loads the kernel, which the driver compiles unless it has done so before. Once for each process;
// later calls return what the first one did.
Result<> LoadTreeWork(CudaDevice* device);

// Starts work on nodes[node] (KilnCudaTreeWork), on as many multiprocessors as run its blocks at
// the same time. Requires: LoadTreeWork succeeded.
Code StartTreeWork(const Driver& driver, Address nodes, uint32_t node, uint32_t work);

}  // namespace cuda
}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_TREE_WORK_H_
