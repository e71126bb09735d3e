// What kilnd-remote asks of other machines: entries, leases, compilations. One
// implementation a kind of server; which of them are used is configuration
// (proto/config.proto).
//
// All methods block, at most until their deadline, and may be called from any thread.
// A failure (unreachable, refused, not understood) is the server's and counts against
// its breaker; an absent entry is none. Nothing here trusts what comes back: kilnd
// checks entries and signatures.
#ifndef KILN_SERVER_REMOTE_REMOTE_TIER_H_
#define KILN_SERVER_REMOTE_REMOTE_TIER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lang/digest.h"
#include "proto/service.pb.h"

namespace kiln {

// A store of entries that several machines share.
class RemoteTier {
 public:
  virtual ~RemoteTier() = default;

  // The entry at each of `places`, empty where there is none.
  virtual absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Digest> places,
                                                       absl::Time deadline) = 0;
  virtual absl::Status Put(const Digest& place, absl::string_view entry, absl::Time deadline) = 0;
};

// The right to compile a key, held by one process of all that share a server. It ends
// by itself, `ttl` after its last sign of life.
class Leases {
 public:
  // What came of asking for one.
  struct Answer {
    std::string token;  // of the lease; "": it is not ours
    bool fruitless;     // who had it found that there is no entry to be made
  };
  virtual ~Leases() = default;

  virtual absl::StatusOr<Answer> Acquire(const Digest& place, absl::Duration ttl) = 0;
  // NotFound: the lease was lost.
  virtual absl::Status Renew(const Digest& place, const std::string& token, absl::Duration ttl) = 0;
  // Only who holds the token lets go. `fruitless` is told to those who ask for a while.
  virtual absl::Status Release(const Digest& place, const std::string& token, bool fruitless) = 0;
};

// A place that compiles: an upstream kilnd, a cluster that runs kiln-worker.
class Delegate {
 public:
  virtual ~Delegate() = default;

  // `request` is answered as a worker would answer it. Cancelled, DeadlineExceeded or
  // Unavailable: compile it yourself.
  virtual absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request,
                                                      const Digest& key, absl::Time deadline) = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REMOTE_TIER_H_
