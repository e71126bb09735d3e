// Interfaces of kilnd-remote to other machines: entries, leases, compilations. Each kind of server
// has one implementation; the configuration chooses among them (proto/config.proto).
//
// All methods block, at most until their deadline, and may be called from any thread. A failure
// (unreachable, refused, not understood) counts against the server's breaker; an absent entry is
// not a failure. Nothing here trusts a server: kilnd checks entries and signatures.
#ifndef KILN_SERVER_REMOTE_REMOTE_TIER_H_
#define KILN_SERVER_REMOTE_REMOTE_TIER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/digest.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

// A store of entries that several machines share.
class RemoteTier {
 public:
  virtual ~RemoteTier() = default;

  // The entry at each of `places`, empty if absent.
  virtual absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Place> places,
                                                       absl::Time deadline) = 0;
  virtual absl::Status Put(const Place& place, absl::string_view entry, absl::Time deadline) = 0;
};

// The right to compile a key, held by one process of all that share a server. It expires `ttl`
// after its last renewal.
class Leases {
 public:
  // The result of requesting a lease.
  struct Answer {
    std::string token;  // of the lease; "": another process holds it
    bool fruitless;     // its last holder found that compiling gives no entry
  };
  virtual ~Leases() = default;

  virtual absl::StatusOr<Answer> Acquire(const Place& place, absl::Duration ttl) = 0;
  // NotFound: the lease was lost.
  virtual absl::Status Renew(const Place& place, const std::string& token, absl::Duration ttl) = 0;
  // Releases the lease; only its holder has the token. Later requests see `fruitless` for a while.
  virtual absl::Status Release(const Place& place, const std::string& token, bool fruitless) = 0;
};

// A remote compiler: an upstream kilnd, a cluster that runs kiln-worker.
class Delegate {
 public:
  virtual ~Delegate() = default;

  // Replies to `request` as a worker would. After Cancelled, DeadlineExceeded or Unavailable the
  // caller compiles itself.
  virtual absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request,
                                                      const Key& key, absl::Time deadline) = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REMOTE_TIER_H_
