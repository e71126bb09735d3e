// Apart from the reading of payloads: programs that only run code need no compression.
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/artifact/cuda_payload.h"

namespace kiln {
namespace {

void AppendWord(uint64_t word, std::string* out) {
  for (size_t i = 0; i < sizeof word; ++i) *out += static_cast<char>(word >> (8 * i));
}

}  // namespace

std::string PackCudaPayload(std::string_view cubin, std::string_view ptx) {
  uLongf bytes = compressBound(ptx.size());
  std::string compressed(bytes, '\0');
  // Cannot fail: the buffer has the size that zlib asks for.
  compress2(reinterpret_cast<Bytef*>(compressed.data()), &bytes,
            reinterpret_cast<const Bytef*>(ptx.data()), ptx.size(), Z_BEST_COMPRESSION);
  compressed.resize(bytes);
  std::string payload(kCudaPayloadMagic);
  AppendWord(cubin.size(), &payload);
  AppendWord(compressed.size(), &payload);
  AppendWord(ptx.size(), &payload);
  payload += cubin;
  payload += compressed;
  return payload;
}

}  // namespace kiln
