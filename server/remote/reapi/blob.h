// What the Remote Execution API is made of: blobs named by the SHA-256 of their bytes,
// and the action under which an entry of ours is kept in an action cache.
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
#include "lang/digest.h"

namespace kiln {

namespace reapi = build::bazel::remote::execution::v2;

// Bytes and their name. The bytes are the caller's.
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
// The bytes over which the digest of a message is taken.
std::string CanonicalBytes(const google::protobuf::MessageLite& message);
bool SameDigest(const reapi::Digest& a, const reapi::Digest& b);
// InvalidArgument unless it is of SHA-256 and of 0 to `max_size` bytes.
absl::Status CheckDigest(const reapi::Digest& digest, size_t max_size);
// DataLoss unless `data` is what `digest` names.
absl::Status CheckBlob(const reapi::Digest& digest, absl::string_view data);

// The action that stands for the entry at `place`: made of the place alone, so that who
// looks an entry up knows its name. Its command is never run; it says what made the
// result, as the protocol wants. The same over gRPC and HTTP.
struct EntryAction {
  reapi::Digest action;
  std::vector<Blob> inputs;  // what has to be stored before the action's result
};
EntryAction EntryActionOf(const Digest& place);

inline constexpr char kEntryPath[] = "entry";  // the action's one output

// The result that says: the entry is `entry`.
reapi::ActionResult EntryResult(const reapi::Digest& entry);
// The output file `path` of `result`; DataLoss where it has none, failed, or names a
// digest that is none or of more than `max_size` bytes.
absl::StatusOr<reapi::OutputFile> OutputOf(const reapi::ActionResult& result,
                                           absl::string_view path, size_t max_size);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_BLOB_H_
