// The runtime's own kernels, as PTX that the build made of runtime/device_lib/cuda_tree_kernels.cc.
#ifndef KILN_RUNTIME_CUDA_TREE_PTX_H_
#define KILN_RUNTIME_CUDA_TREE_PTX_H_

#include <cstddef>

namespace kiln {

// Compressed, as in a CudaPayload.
extern const char kTreePtx[];
extern const size_t kTreePtxSize, kTreePtxPlainSize;

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_TREE_PTX_H_
