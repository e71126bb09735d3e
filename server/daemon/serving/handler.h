// Answers the daemon's requests: one request frame in, one reply out, from any transport.
//
// A failure of ours is an Error frame; the user's mistakes are diagnostics in a CompileReply.
// Thread-safe; calls block while they compile.
//
// Order on a connection: Hello first (else FailedPrecondition), then any request that the caller
// has the right to (else PermissionDenied); handler.cc has the table of rights. Stats, Clear and
// Shutdown need no Hello, so that every version can inspect and stop every other.
//   Hello refused   FailedPrecondition, part "protocol": no common version
//   Hello refused   Unavailable: kilnd's file was replaced; this kilnd exits, start a new one
//   ResourceExhausted, retry_after_ms set: the queue or the connections are full
#ifndef KILN_SERVER_DAEMON_SERVING_HANDLER_H_
#define KILN_SERVER_DAEMON_SERVING_HANDLER_H_

#include <array>
#include <atomic>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/wire/framing.h"
#include "kiln/proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/daemon/compiling/compile_service.h"
#include "server/daemon/compiling/compiler_identity.h"
#include "server/daemon/compiling/link_service.h"
#include "server/daemon/housekeeper.h"
#include "server/daemon/serving/reply_body.h"
#include "server/daemon/workers/worker_pool.h"
#include "server/observe/activity.h"
#include "server/observe/metrics.h"

namespace kiln {

struct Reply {
  FrameType type;
  uint32_t id;
  ReplyBody body;
};

class Handler {
 public:
  struct Parts {  // none owned
    CompileService* compiles;
    LinkService* links;
    ArtifactStore* tiers;
    Housekeeper* housekeeper;
    CompilerIdentity* compiler;
    WorkerPool* pool;
    Activity* activity;
    std::function<void()> stop;  // asks the daemon to exit
    // A client started the daemon, and another client's daemon may do better. This one exits if it
    // has never been able to run its compiler (for example because of its starter's limits).
    bool lives_by_clients = false;
    std::function<bool()> replaced;  // kilnd's file is not the running one any more
    // Checks the place and signature of an entry that another machine made. None: such entries are
    // refused, for lack of trusted keys.
    std::function<absl::StatusOr<EntryPtr>(const Place& place, std::string bytes,
                                           absl::string_view source)>
        admit;
    int workers = 0;
    std::function<std::string()> cuda_toolchain;  // CapabilitiesReply.cuda_toolchain; may be null
    bool name_sources = false;                    // logs name the file and line of kernels
  };

  explicit Handler(Parts parts);

  Reply Handle(const Frame& request, Caller* caller);

  // An Error frame for `status`, with a hint when to retry if a retry may help.
  static Reply ErrorFrame(uint32_t id, const absl::Status& status);
  // The same for a request that is refused unread; counted as refused.
  static Reply Refuse(uint32_t id, const absl::Status& status);

 private:
  using Body = absl::StatusOr<ReplyBody>;

  // Number and duration of requests of each type.
  struct Kind {
    Counter* requests = nullptr;
    Histogram* seconds = nullptr;
  };

  // The right and the function for each kind of request.
  struct Rule {
    FrameType type;
    const char* name;   // in metrics
    uint32_t right;     // of proto::Right
    bool before_hello;  // also answered to versions without a common protocol
    Body (Handler::*answer)(const std::string& body, Caller* caller);
  };
  static const Rule kRules[];

  Body Answer(const Frame& request, Caller* caller);
  Body Hello(const std::string& body, Caller* caller);
  Body Lookup(const std::string& body, Caller* caller);
  Body Compile(const std::string& body, Caller* caller);
  Body Link(const std::string& body, Caller* caller);
  Body Capabilities(const std::string& body, Caller* caller);
  Body Put(const std::string& body, Caller* caller);
  Body AllMetrics(const std::string& body, Caller* caller);
  Body Recent(const std::string& body, Caller* caller);
  Body Hits(const std::string& body, Caller* caller);
  Body Stats(const std::string& body, Caller* caller);
  Body Clear(const std::string& body, Caller* caller);
  Body Shutdown(const std::string& body, Caller* caller);
  // Stores one entry that the caller sends.
  absl::Status Keep(const std::string& entry, const Caller& caller);

  const Parts parts_;
  const absl::Time start_;
  std::atomic<bool> has_compiled_{false};
  std::array<Kind, kLastFrameType + 1> kinds_;
  Counter* const received_ = Metrics::Get().counter("kiln_received_bytes_total");
  Counter* const sent_ = Metrics::Get().counter("kiln_sent_bytes_total");
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVING_HANDLER_H_
