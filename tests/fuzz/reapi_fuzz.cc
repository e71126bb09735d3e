// Arbitrary answers of a Remote Execution API server: an action's result from a gRPC or HTTP
// server, or a blob in zstd. The first byte selects one. No answer may need more memory than our
// size limits.
#include <cstdlib>
#include <string>

#include "server/remote/reapi/blob.h"
#include "server/remote/reapi/zstd.h"

namespace {

constexpr size_t kMaxSize = 1 << 20;

void CheckResult(absl::string_view bytes) {
  kiln::reapi::ActionResult result;
  if (!result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto output = kiln::OutputOf(result, kiln::kEntryPath, kMaxSize);
  if (!output.ok()) return;
  if (!kiln::CheckDigest(output->digest(), kMaxSize).ok()) std::abort();
  if (output->digest().size_bytes() > static_cast<int64_t>(kMaxSize)) std::abort();
  const auto blob = kiln::CheckBlob(output->digest(), output->contents());
  const bool same = kiln::SameDigest(kiln::BlobDigest(output->contents()), output->digest());
  if (blob.ok() != same) std::abort();
}

void CheckZstd(absl::string_view bytes) {
  if (bytes.size() < 2) return;
  const size_t size = static_cast<uint8_t>(bytes[0]) * 256 + static_cast<uint8_t>(bytes[1]);
  const auto data = kiln::ZstdDecompress(bytes.substr(2), size);
  if (data.ok() && data->size() != size) std::abort();
  const auto again = kiln::ZstdDecompress(kiln::ZstdCompress(bytes), bytes.size());
  if (!again.ok() || *again != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] % 2 == 0 ? CheckResult(bytes) : CheckZstd(bytes);
  return 0;
}
