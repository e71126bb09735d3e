// libdevice: NVIDIA's math functions for CUDA, as LLVM bitcode in a file of the CUDA toolkit.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_LIBDEVICE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_LIBDEVICE_H_

#include <cstdint>
#include <string>

namespace llvm {
class Module;
}

namespace kiln::cuda {

// The names of its functions begin with this.
inline constexpr char kLibdevicePrefix[] = "__nv_";

// Reads the file, if this machine has one: below KILN_CUDA_TOOLKIT, else in /usr/local/cuda. The
// worker calls it before it gives up reading files; later calls do nothing.
void ReadLibdevice();

// The file's bytes; "" if there is none, or it was not read.
const std::string& Libdevice();

// As the library has them; what is optimised has half as many. 68 sines, for example: 0.5 s of
// nvJitLink, and 80 KB of machine code, where the instruction caches of a multiprocessor have 128.
inline constexpr int64_t kMostCopiedInstructions = 16384;

// Decides what is inlined of the functions that `module` has of libdevice, which asks for all of
// them: those with the most copies stay functions, as many as it takes to keep the copies of the
// others within kMostCopiedInstructions.
void LimitCopies(llvm::Module& module);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_LIBDEVICE_H_
