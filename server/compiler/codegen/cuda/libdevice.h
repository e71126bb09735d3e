// libdevice: NVIDIA's math functions for CUDA, as LLVM bitcode in a file of the CUDA toolkit.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_LIBDEVICE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_LIBDEVICE_H_

#include <string>

namespace kiln::cuda {

// The names of its functions begin with this.
inline constexpr char kLibdevicePrefix[] = "__nv_";

// Reads the file, if this machine has one: below KILN_CUDA_TOOLKIT, else in /usr/local/cuda. The
// worker calls it before it gives up reading files; later calls do nothing.
void ReadLibdevice();

// The file's bytes; "" if there is none, or it was not read.
const std::string& Libdevice();

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_LIBDEVICE_H_
