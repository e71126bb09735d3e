// The objects of the Remote Execution API: blobs named by the SHA-256 of their bytes, and the
// action whose result in an action cache is an entry of ours.
//
// Thread safety: pure functions.
#ifndef KILN_SERVER_REMOTE_REAPI_BLOB_H_
#define KILN_SERVER_REMOTE_REAPI_BLOB_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "common/base/digest.h"

namespace kiln {

namespace reapi = build::bazel::remote::execution::v2;

// Bytes and their digest. Those of a message are DeterministicBytes, since equal messages must have
// equal digests. The caller owns the bytes.
struct BlobView {
  reapi::Digest digest;
  absl::string_view data;
};

struct Blob {
  explicit Blob(std::string bytes);
  BlobView view() const { return {digest, data}; }

  std::string data;
  reapi::Digest digest;
};

reapi::Digest BlobDigest(absl::string_view data);
bool SameDigest(const reapi::Digest& a, const reapi::Digest& b);
// InvalidArgument unless it is a SHA-256 digest of 0 to `max_size` bytes.
absl::Status CheckDigest(const reapi::Digest& digest, size_t max_size);
// DataLoss unless `data` has the digest `digest`.
absl::Status CheckBlob(const reapi::Digest& digest, absl::string_view data);

// The action for the entry at `place`. It follows from the place alone, so that a look-up can
// compute its name. Its command never runs; it documents the origin of the result, as the protocol
// requires. The same over gRPC and HTTP.
struct EntryAction {
  reapi::Digest action;
  std::vector<Blob> inputs;  // to be stored before the action's result
};
EntryAction EntryActionOf(const Place& place);

inline constexpr char kEntryPath[] = "entry";  // the action's one output

// The result whose output is `entry`.
reapi::ActionResult EntryResult(const reapi::Digest& entry);
// The digest of the output file `path` of `result`. DataLoss if the action failed, the file is
// missing, or its digest is invalid or of more than `max_size` bytes.
absl::StatusOr<reapi::OutputFile> OutputOf(const reapi::ActionResult& result,
                                           absl::string_view path, size_t max_size);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_BLOB_H_
