// Who calls, and what he may: tokens and certificates from a file that is read again when
// it changes.
#ifndef KILN_SERVER_DAEMON_SERVICE_CALLERS_H_
#define KILN_SERVER_DAEMON_SERVICE_CALLERS_H_

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
#include "lang/digest.h"
#include "proto/service.pb.h"

namespace kiln {

struct Identity {
  proto::Caller caller;
  std::string key;  // the same for callers that are the same in all things
};
using IdentityPtr = std::shared_ptr<const Identity>;

// Lines of a token file: "TOKEN NAME TENANT RIGHT,RIGHT", '#' begins a comment. TENANT "-"
// is the one with no name; RIGHTs are read, compile, write, admin. A TOKEN
// "certificate:NAME" stands for who shows a certificate of that common name, and cannot be
// sent. Others than the owner and the group must not be able to read the file.
//
// Thread-safe.
class Callers {
 public:
  struct Options {
    std::string token_file;     // "": no tokens
    bool certificates = false;  // callers' certificates are checked
    // Rights of who has neither; 0: none, but read and compile where nobody could have
    // either.
    uint32_t anonymous_rights = 0;
  };

  explicit Callers(Options options);

  // Reads the file if it changed. A file that is wrong changes nothing; the error names
  // the line, never the token.
  absl::Status Reload();

  // `authorization` is the header's value, "" if there is none; `certificate` the common
  // name of the caller's certificate. Unauthenticated if they are nobody's.
  absl::StatusOr<IdentityPtr> Who(absl::string_view authorization,
                                  absl::string_view certificate) const;

 private:
  struct Table {
    // Digests are compared, all of them and in constant time: how long that takes says
    // nothing about the tokens.
    std::vector<std::pair<Digest, IdentityPtr>> tokens;
    absl::flat_hash_map<std::string, IdentityPtr> certificates;
  };

  static absl::StatusOr<Table> Parse(absl::string_view text);
  std::shared_ptr<const Table> table() const;

  const Options options_;
  const IdentityPtr anonymous_;  // null where nobody may be
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Table> table_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Table>();
  struct stat read_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_CALLERS_H_
