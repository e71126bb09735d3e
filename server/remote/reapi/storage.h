// The content-addressed storage of a Remote Execution API server: transfers blobs, small ones in
// batches and large ones as streams, with zstd if the server accepts it.
#ifndef KILN_SERVER_REMOTE_REAPI_STORAGE_H_
#define KILN_SERVER_REMOTE_REAPI_STORAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/remote/reapi/blob.h"
#include "server/remote/reapi/server.h"

namespace kiln {

// Thread-safe.
class ReapiStorage {
 public:
  explicit ReapiStorage(ReapiServer* server) : server_(server) {}  // not owned

  // Stores those of `blobs` that the server lacks. After OK all are stored; after a failure some
  // may be.
  absl::Status Upload(absl::Span<const BlobView> blobs, absl::Time deadline);

  using Blobs = std::vector<absl::StatusOr<std::string>>;

  // The blobs in the order requested: NotFound if the server lacks one, DataLoss if the bytes do
  // not match the digest. Requires: digests that CheckDigest accepts.
  Blobs Download(absl::Span<const reapi::Digest> digests, absl::Time deadline);

 private:
  using Abilities = ReapiServer::Abilities;

  absl::StatusOr<std::vector<BlobView>> Missing(absl::Span<const BlobView> blobs,
                                                absl::Time deadline);
  absl::Status SendBatch(absl::Span<const BlobView> blobs, const Abilities& abilities,
                         absl::Time deadline);
  absl::Status SendStream(const BlobView& blob, const Abilities& abilities, absl::Time deadline);
  absl::Status ReadBatch(absl::Span<const reapi::Digest> digests, absl::Span<const size_t> which,
                         const Abilities& abilities, absl::Time deadline, Blobs* out);
  absl::StatusOr<std::string> ReadStream(const reapi::Digest& digest, const Abilities& abilities,
                                         absl::Time deadline);
  std::string Resource(absl::string_view kind, bool zstd, const reapi::Digest& digest) const;

  ReapiServer* const server_;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_STORAGE_H_
