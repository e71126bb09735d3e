// zstd of single blobs whose sizes are known.
#ifndef KILN_SERVER_REMOTE_REAPI_ZSTD_H_
#define KILN_SERVER_REMOTE_REAPI_ZSTD_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

std::string ZstdCompress(absl::string_view data);

// Decompresses `compressed` (one frame or several) to `size` bytes. DataLoss if it is damaged or
// has another size; never produces more than `size` bytes.
absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, size_t size);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_ZSTD_H_
