// What an entry for a CUDA target holds in place of a shared object: machine code, and PTX for
// devices and drivers that do not load it.
//
//   u64 magic "KILNCUDA"   u64 cubin_bytes (0: PTX alone)   u64 ptx_bytes   u64 ptx_plain_bytes
//   the cubin              the PTX, compressed by zlib
//
// Little endian, without padding. Plain C++ for the runtime, without protobuf and Abseil.
#ifndef KILN_COMMON_ARTIFACT_CUDA_PAYLOAD_H_
#define KILN_COMMON_ARTIFACT_CUDA_PAYLOAD_H_

#include <string>
#include <string_view>

#include "common/artifact/target.h"

namespace kiln {

inline constexpr std::string_view kCudaPayloadMagic = "KILNCUDA";

struct CudaPayload {
  std::string_view cubin;  // in the payload that was read; may be empty
  std::string_view ptx;    // likewise, compressed: CudaPtxText has the text
  size_t ptx_plain_bytes = 0;
};

// `cubin` may be empty, `ptx` must not. Equal arguments give equal bytes.
std::string PackCudaPayload(std::string_view cubin, std::string_view ptx);

// Reads what PackCudaPayload returns. For other bytes it returns what is wrong with them, and
// otherwise "". `out` refers to `payload`.
std::string UnpackCudaPayload(std::string_view payload, CudaPayload* out);

// The same, and what is wrong with the cubin of code for `target`, a CUDA device (cubin.h). The PTX
// stays compressed.
std::string CheckCudaPayload(std::string_view payload, Target target, CudaPayload* out);

// What is wrong with the PTX of code for `target`: it is text, and for the target's level.
std::string CheckCudaPtx(const CudaPayload& payload, Target target);

// The PTX as text. Like UnpackCudaPayload, returns what is wrong.
std::string CudaPtxText(const CudaPayload& payload, std::string* text);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_CUDA_PAYLOAD_H_
