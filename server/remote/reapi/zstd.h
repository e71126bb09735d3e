// One blob in zstd, with sizes known beforehand.
#ifndef KILN_SERVER_REMOTE_REAPI_ZSTD_H_
#define KILN_SERVER_REMOTE_REAPI_ZSTD_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

std::string ZstdCompress(absl::string_view data);

// The `size` bytes that `compressed` (one frame or several) stands for. DataLoss if it is
// damaged or stands for another number of bytes; never makes more than `size` of them.
absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, size_t size);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_ZSTD_H_
