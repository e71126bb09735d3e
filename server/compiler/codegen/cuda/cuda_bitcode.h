// The device library for CUDA (runtime/device_lib) as LLVM bitcode, in this program's data.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_CUDA_BITCODE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_CUDA_BITCODE_H_

#include <cstddef>

namespace kiln {

extern const char kCudaBitcode[];
extern const size_t kCudaBitcodeSize;

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_CUDA_BITCODE_H_
