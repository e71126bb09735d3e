#include "server/remote/reapi/zstd.h"

#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

// Machine code shrinks to a third at any level; a higher one does not pay on a network.
constexpr int kLevel = 1;

}  // namespace

std::string ZstdCompress(absl::string_view data) {
  std::string out(ZSTD_compressBound(data.size()), '\0');
  const size_t size = ZSTD_compress(&out[0], out.size(), data.data(), data.size(), kLevel);
  if (ZSTD_isError(size)) {  // only if memory is exhausted
    std::fprintf(stderr, "zstd: %s\n", ZSTD_getErrorName(size));
    std::abort();
  }
  out.resize(size);
  return out;
}

absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, size_t size) {
  std::string out(size, '\0');
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  ZSTD_inBuffer from{compressed.data(), compressed.size(), 0};
  ZSTD_outBuffer to{&out[0], out.size(), 0};
  size_t more = 1;
  while (from.pos < from.size) {
    const size_t from_before = from.pos;
    const size_t to_before = to.pos;
    more = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(more)) {
      return absl::DataLossError(absl::StrCat("invalid zstd data: ", ZSTD_getErrorName(more)));
    }
    // The output is full, but the input is not finished.
    if (from.pos == from_before && to.pos == to_before) break;
  }
  if (more != 0 || from.pos != from.size || to.pos != size) {
    return absl::DataLossError(absl::StrCat("zstd of a blob that is not of ", size, " bytes"));
  }
  return out;
}

}  // namespace kiln
