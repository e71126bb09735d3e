#include "common/artifact/cuda_payload.h"

#include <zlib.h>

#include <cstdint>

namespace kiln {
namespace {

constexpr std::string_view kMagic = "KILNCUDA";
constexpr size_t kWord = 8;
constexpr size_t kHeaderBytes = 4 * kWord;
// Of a forged payload, the text must not take all memory. The largest kernels have a few megabytes.
constexpr uint64_t kMostPlainBytes = uint64_t{256} << 20;

void AppendWord(uint64_t word, std::string* out) {
  for (size_t i = 0; i < kWord; ++i) *out += static_cast<char>(word >> (8 * i));
}

uint64_t WordAt(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < kWord; ++i) {
    word |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return word;
}

}  // namespace

std::string PackCudaPayload(std::string_view cubin, std::string_view ptx) {
  uLongf bytes = compressBound(ptx.size());
  std::string compressed(bytes, '\0');
  // Cannot fail: the buffer has the size that zlib asks for.
  compress2(reinterpret_cast<Bytef*>(compressed.data()), &bytes,
            reinterpret_cast<const Bytef*>(ptx.data()), ptx.size(), Z_BEST_COMPRESSION);
  compressed.resize(bytes);
  std::string payload(kMagic);
  AppendWord(cubin.size(), &payload);
  AppendWord(compressed.size(), &payload);
  AppendWord(ptx.size(), &payload);
  payload += cubin;
  payload += compressed;
  return payload;
}

std::string UnpackCudaPayload(std::string_view payload, CudaPayload* out) {
  if (payload.size() < kHeaderBytes) return "shorter than the header of CUDA code";
  if (payload.substr(0, kWord) != kMagic) return "does not begin like CUDA code";
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

}  // namespace kiln
