// Identifies callers and their rights: tokens and certificates from a file that is reread when it
// changes.
#ifndef KILN_SERVER_GRPC_FRONT_CALLERS_H_
#define KILN_SERVER_GRPC_FRONT_CALLERS_H_

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/base/digest.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

struct Identity {
  proto::Caller caller;
  std::string key;  // equal for callers that are equal in all fields
};
using IdentityPtr = std::shared_ptr<const Identity>;

// Lines of a token file: "TOKEN NAME TENANT RIGHT,RIGHT"; '#' begins a comment. TENANT "-" is the
// tenant without a name; RIGHTs are read, compile, write, admin. A TOKEN "certificate:NAME" denotes
// callers with a certificate of that common name, and cannot be sent. Only the owner and the group
// may be able to read the file.
//
// Thread-safe.
class Callers {
 public:
  struct Options {
    std::string token_file;     // "": no tokens
    bool certificates = false;  // callers' certificates are checked
    // Rights of callers with neither. 0: none, or read and compile if no credentials are
    // configured.
    uint32_t anonymous_rights = 0;
  };

  explicit Callers(Options options);

  // Reads the file if it changed. A faulty file changes nothing; the error names the line, never
  // the token.
  absl::Status Reload();

  // `authorization` is the header's value, "" if there is none; `certificate` the common name of
  // the caller's certificate. Unauthenticated if they match no line.
  absl::StatusOr<IdentityPtr> Identify(absl::string_view authorization,
                                       absl::string_view certificate) const;

 private:
  struct Table {
    // Compares digests, all of them and in constant time, so that the duration reveals nothing
    // about the tokens.
    std::vector<std::pair<Digest, IdentityPtr>> tokens;
    absl::flat_hash_map<std::string, IdentityPtr> certificates;
  };

  static absl::StatusOr<Table> Parse(absl::string_view text);
  std::shared_ptr<const Table> table() const;

  const Options options_;
  const IdentityPtr anonymous_;  // null: anonymous callers are refused
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Table> table_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Table>();
  struct stat read_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_CALLERS_H_
