// nvJitLink: NVIDIA's compiler from PTX to machine code, a library of the CUDA toolkit. Kiln
// neither contains it nor links with it: it is loaded where a machine has it.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_NV_JIT_LINK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_NV_JIT_LINK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace kiln::cuda {

// Loads the library, if this machine has one: below KILN_CUDA_TOOLKIT, else in /usr/local/cuda. The
// worker calls it before it gives up reading files; later calls do nothing. Thread-safe.
void LoadNvJitLink();
// Whether the library was loaded.
bool HasNvJitLink();
// "13.0"; "" if it was not loaded, or does not say.
std::string NvJitLinkVersion();

// Machine code for sm_<arch>, optimised. Equal texts give equal bytes. Unimplemented: the library
// does not know the architecture. Requires: HasNvJitLink.
absl::StatusOr<std::string> Assemble(const std::string& ptx, uint32_t arch);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_NV_JIT_LINK_H_
