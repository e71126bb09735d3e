#include "common/artifact/cuda_payload.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "common/artifact/cubin.h"

namespace kiln {
namespace {

constexpr size_t kWord = 8;
constexpr size_t kHeaderBytes = 4 * kWord;
// Of a forged payload, the text must not take all memory. The largest kernels have a few megabytes.
constexpr uint64_t kMostPlainBytes = uint64_t{256} << 20;

uint64_t WordAt(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < kWord; ++i) {
    word |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return word;
}

}  // namespace

std::string UnpackCudaPayload(std::string_view payload, CudaPayload* out) {
  if (payload.size() < kHeaderBytes) return "shorter than the header of CUDA code";
  if (payload.substr(0, kWord) != kCudaPayloadMagic) return "does not begin like CUDA code";
  const uint64_t cubin = WordAt(payload, kWord);
  const uint64_t ptx = WordAt(payload, 2 * kWord);
  const uint64_t plain = WordAt(payload, 3 * kWord);
  const uint64_t rest = payload.size() - kHeaderBytes;
  // Each alone first: a sum of forged sizes may wrap.
  if (cubin > rest || ptx != rest - cubin) {
    return "its cubin and PTX are not as long as its header states";
  }
  if (ptx == 0 || plain == 0) return "without PTX";
  if (plain > kMostPlainBytes) return "PTX of " + std::to_string(plain) + " bytes is too long";
  out->cubin = payload.substr(kHeaderBytes, cubin);
  out->ptx = payload.substr(kHeaderBytes + cubin);
  out->ptx_plain_bytes = plain;
  return "";
}

std::string CudaPtxText(const CudaPayload& payload, std::string* text) {
  text->assign(payload.ptx_plain_bytes, '\0');
  uLongf bytes = payload.ptx_plain_bytes;
  uLong used = payload.ptx.size();
  const int result = uncompress2(reinterpret_cast<Bytef*>(text->data()), &bytes,
                                 reinterpret_cast<const Bytef*>(payload.ptx.data()), &used);
  const bool whole = bytes == payload.ptx_plain_bytes && used == payload.ptx.size();
  return result == Z_OK && whole ? "" : "its PTX cannot be uncompressed";
}

std::string CheckCudaPayload(std::string_view payload, Target target, CudaPayload* out) {
  std::string problem = UnpackCudaPayload(payload, out);
  if (!problem.empty() || out->cubin.empty()) return problem;
  if (target.ptx_only()) return "machine code in an entry for " + target.text();
  return CheckCubin(out->cubin, target.level());
}

std::string CheckCudaPtx(const CudaPayload& payload, Target target) {
  std::string text;
  std::string problem = CudaPtxText(payload, &text);
  if (!problem.empty()) return problem;
  const bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\t';
  });
  if (!is_text) return "its PTX is not text";
  // The level is the rest of one line of its head.
  constexpr std::string_view kLine = "\n.target sm_";
  const size_t at = text.find(kLine);
  const std::string wanted = std::to_string(target.virtual_arch()) + "\n";
  if (at == std::string::npos || text.compare(at + kLine.size(), wanted.size(), wanted) != 0) {
    return "its PTX is not for compute_" + std::to_string(target.virtual_arch());
  }
  return "";
}

}  // namespace kiln
