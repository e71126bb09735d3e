// What the daemon answers: one request frame in, one reply frame out, whatever
// carried it. Both transports end here.
//
// A failure of ours is an Error frame; the user's mistakes are diagnostics in a
// CompileReply. Thread-safe; calls block while they compile.
//
// Order on a connection: Hello first (else FailedPrecondition), then Lookup,
// Compile and Capabilities. Stats, Clear and Shutdown are answered to anyone of
// this user, so that every version can look at and end every other.
//   Hello refused   FailedPrecondition: another version, both named
//   Hello refused   Unavailable: kilnd's file was replaced; it ends, start anew
//   ResourceExhausted, retry_after_ms set: queue or connections full
#ifndef KILN_SERVER_DAEMON_HANDLER_H_
#define KILN_SERVER_DAEMON_HANDLER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lang/framing.h"
#include "proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/daemon/compile_service.h"
#include "server/daemon/compiler_identity.h"
#include "server/daemon/housekeeper.h"
#include "server/daemon/worker_pool.h"

namespace kiln {

class Handler {
 public:
  struct Parts {  // none owned
    CompileService* compiles;
    ArtifactStore* tiers;
    Housekeeper* housekeeper;
    CompilerIdentity* compiler;
    WorkerPool* pool;
    std::function<void()> stop;      // asks the daemon to end
    std::function<bool()> replaced;  // kilnd's file is not what runs any more
    int workers = 0;
  };

  explicit Handler(Parts parts) : parts_(std::move(parts)), start_(absl::Now()) {}

  Frame Handle(Frame request, Caller* caller);

  // An Error frame for `status`, with a hint when to try again where it may help.
  static Frame ErrorFrame(uint32_t id, const absl::Status& status);

 private:
  using Body = absl::StatusOr<std::string>;

  Body Hello(const std::string& body, Caller* caller);
  Body Lookup(const std::string& body, const Caller& caller);
  Body Compile(const std::string& body, const Caller& caller);
  Body Capabilities();
  Body Stats();
  Body Clear();

  const Parts parts_;
  const absl::Time start_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_HANDLER_H_
