// The kernel of the runtime's own that works on trees (runtime/device_lib/cuda_tree_kernels.cc).
#ifndef KILN_RUNTIME_CUDA_TREE_WORK_H_
#define KILN_RUNTIME_CUDA_TREE_WORK_H_

#include <cstdint>

#include "runtime/cuda/driver.h"
#include "runtime/result.h"

namespace kiln {

class CudaDevice;

namespace cuda {

// The kernel, with as many blocks as run at the same time. Its parameters are the address of nodes,
// the number of one, and work on it (KilnCudaTreeWork).
struct TreeKernel {
  Function function = nullptr;
  Function grow = nullptr;  // kiln_cuda_tree_grow
  unsigned blocks = 1, threads = 1;
  bool is_cooperative = false;
};

// Loads it for the device, whose driver compiles it unless it has done so before.
Result<TreeKernel> LoadTreeKernel(CudaDevice* device);

// Starts the device's.
Code StartTreeWork(const CudaDevice& device, Address nodes, uint32_t node, uint32_t work,
                   Stream stream);

// Tells a tree where its memory ends, and from where on it asks for more.
Code StartTreeGrowth(const CudaDevice& device, Address tree, Address end, Address mark,
                     Stream stream);

}  // namespace cuda
}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_TREE_WORK_H_
