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

#include <array>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lang/framing.h"
#include "proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/daemon/activity.h"
#include "server/daemon/compile_service.h"
#include "server/daemon/compiler_identity.h"
#include "server/daemon/housekeeper.h"
#include "server/daemon/metrics.h"
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
    Activity* activity;
    std::function<void()> stop;      // asks the daemon to end
    std::function<bool()> replaced;  // kilnd's file is not what runs any more
    int workers = 0;
  };

  explicit Handler(Parts parts);

  Frame Handle(Frame request, Caller* caller);

  // An Error frame for `status`, with a hint when to try again where it may help.
  static Frame ErrorFrame(uint32_t id, const absl::Status& status);

 private:
  using Body = absl::StatusOr<std::string>;

  // How often requests of a type came, and what they took.
  struct Kind {
    Counter* requests = nullptr;
    Histogram* seconds = nullptr;
  };

  Body Answer(const Frame& request, Caller* caller);

  Body Hello(const std::string& body, Caller* caller);
  Body Lookup(const std::string& body, const Caller& caller);
  Body Compile(const std::string& body, const Caller& caller);
  Body Capabilities();
  Body Stats();
  Body Recent(const std::string& body);
  Body Clear();

  const Parts parts_;
  const absl::Time start_;
  std::array<Kind, kLastFrameType + 1> kinds_;
  Counter* const received_ = Metrics::Get().counter("kiln_received_bytes_total");
  Counter* const sent_ = Metrics::Get().counter("kiln_sent_bytes_total");
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_HANDLER_H_
