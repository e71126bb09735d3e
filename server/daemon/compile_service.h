// Look-ups and compilations: where a request's entry comes from, in order.
//
//   tiers (memory, disk) → a compilation of the same key that is under way → worker
//
// Thread-safe; calls block while they compile. Failures of ours are Status, the
// user's mistakes are diagnostics in the reply.
#ifndef KILN_SERVER_DAEMON_COMPILE_SERVICE_H_
#define KILN_SERVER_DAEMON_COMPILE_SERVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lang/framing.h"
#include "proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/cache/counters.h"
#include "server/cache/single_flight.h"
#include "server/daemon/activity.h"
#include "server/daemon/compiler_identity.h"
#include "server/daemon/miss_reasons.h"
#include "server/daemon/quotas.h"
#include "server/daemon/worker_pool.h"

namespace kiln {

// What is to be known of who asks.
struct Caller {
  bool greeted = false;
  bool local = true;           // our own user, not somebody for whom a front speaks
  std::string name;            // for quotas, logs and lists: "pid 1234", or what a front says
  std::string tenant;          // whose entries these are
  uint32_t rights = 0;         // bits of proto::Right
  std::function<bool()> gone;  // the client is no longer there
  std::shared_ptr<Activity::Seat> seat;      // among those connected, once it has a name
  std::shared_ptr<Quotas::Account> account;  // what it may ask for; null: anything
};

class CompileService {
 public:
  struct Parts {  // none owned
    ArtifactStore* tiers;
    Counters* counters;
    CompilerIdentity* compiler;
    WorkerPool* pool;
    absl::Duration compile_limit;  // for requests that bring no deadline
  };

  explicit CompileService(Parts parts) : parts_(parts) {}

  absl::StatusOr<proto::LookupReply> Lookup(const proto::LookupRequest& request,
                                            const Caller& caller);
  // Shared with whoever asks for the same at the same time; `joined` says whether somebody
  // else had begun.
  absl::StatusOr<std::shared_ptr<const proto::CompileReply>> Compile(proto::CompileRequest request,
                                                                     const Caller& caller,
                                                                     bool* joined);

 private:
  using Flights = SingleFlight<proto::CompileReply>;

  std::shared_ptr<const proto::CompileReply> Find(const Digest& key, const Digest& place);
  // Starts the flight of a request that no tier could serve.
  Flights::Cancel Start(const Digest& key, const Digest& place, WorkerPool::Task task,
                        const Flights::Done& done);
  // Ends `done` with the worker's reply, kept in the cache.
  void TakeResult(const Digest& key, const Digest& place, absl::StatusOr<Frame> frame,
                  const Flights::Done& done);

  const Parts parts_;
  Flights flights_;
  MissReasons miss_reasons_;
  std::atomic<uint64_t> unshared_{0};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILE_SERVICE_H_
