// The form of a cubin, the machine code of CUDA devices: an ELF file whose header names the device.
// Plain C++ for the runtime, without protobuf and Abseil.
#ifndef KILN_COMMON_ARTIFACT_CUBIN_H_
#define KILN_COMMON_ARTIFACT_CUBIN_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

// What is wrong with bytes that should be a whole cubin for sm_<arch>, or "": no ELF file of CUDA,
// for another device, or with parts beyond its end. The code itself is not looked at: only a
// signature says where it comes from.
std::string CheckCubin(std::string_view cubin, uint32_t arch);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_CUBIN_H_
