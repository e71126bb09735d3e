// Look-ups and compilations: the sources of a request's entry, in order.
//
//   tiers (memory, disk) → a running flight of the same key → shared tiers, or
//   the lease → remote compilers (an upstream, a cluster) → worker
//
// An entry that a flight finds goes to memory and disk. A compiled entry also goes to the shared
// tiers, and its lease is released. Trust checks every entry from outside first.
//
// Thread-safe. Calls block while they compile. Our failures are a Status; the user's mistakes are
// diagnostics in the reply.
// user's mistakes are diagnostics in the reply.
#ifndef KILN_SERVER_DAEMON_COMPILING_COMPILE_SERVICE_H_
#define KILN_SERVER_DAEMON_COMPILING_COMPILE_SERVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/wire/framing.h"
#include "kiln/proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/cache/counters.h"
#include "server/cache/single_flight.h"
#include "server/cache/tiered_store.h"
#include "server/cache/trust.h"
#include "server/daemon/compiling/compile_times.h"
#include "server/daemon/compiling/compiler_identity.h"
#include "server/daemon/compiling/miss_reasons.h"
#include "server/daemon/compiling/shared_tiers.h"
#include "server/daemon/workers/worker_pool.h"
#include "server/front/quotas.h"
#include "server/observe/activity.h"

namespace kiln {

// The facts about a caller that the service needs.
struct Caller {
  bool greeted = false;
  bool local = true;           // our own user, not a caller that a front speaks for
  std::string name;            // for quotas, logs and lists: "pid 1234", or the front's name for it
  std::string tenant;          // whose entries these are
  uint32_t rights = 0;         // bits of proto::Right
  std::function<bool()> gone;  // whether the client has disconnected
  std::function<absl::Status()> leave_loop;  // see LeaveLoop
  std::string upstream;  // a serialised proto::Upstream that the caller wants asked; "": none
  bool upstream_required = false;              // requests fail if it is unavailable
  std::shared_ptr<Activity::Session> session;  // among the connected clients, once it has a name
  std::shared_ptr<Quotas::Account> account;    // its quotas; null: unlimited

  // Called before any blocking work: this thread stops serving other clients meanwhile.
  // ResourceExhausted: no other thread is available.
  absl::Status LeaveLoop() const { return leave_loop ? leave_loop() : absl::OkStatus(); }
};

class CompileService {
 public:
  struct Parts {  // none owned
    TieredStore* tiers;
    Counters* counters;
    CompilerIdentity* compiler;
    WorkerPool* pool;
    SharedTiers* shared;
    Trust* trust;
    absl::Duration compile_limit;  // for requests without a deadline
  };

  explicit CompileService(Parts parts) : parts_(parts) {}

  // Entries are stored beside the replies, not in them.
  struct Looked {
    proto::LookupReply reply;
    std::vector<EntryPtr> entries;  // one per result; null: not found, or not requested
  };
  struct Compiled {
    proto::CompileReply reply;
    EntryPtr entry;  // null: the reply holds the user's mistakes
  };

  absl::StatusOr<Looked> Lookup(const proto::LookupRequest& request, const Caller& caller);
  // Counts look-ups that a front answered from its cache, and marks their entries as used.
  absl::Status CountHits(const proto::HitsRequest& hits, const Caller& caller);
  // Concurrent requests for one key share a flight; `joined` says whether another request began it.
  absl::StatusOr<std::shared_ptr<const Compiled>> Compile(proto::CompileRequest request,
                                                          const Caller& caller, bool* joined);

 private:
  using Flights = SingleFlight<Compiled>;

  // The result of the tiers' Get or GetAtOnce.
  std::shared_ptr<const Compiled> Find(const Key& key, const Place& place, bool at_once);
  std::shared_ptr<const Compiled> Hit(const Key& key, EntryPtr entry, absl::string_view tier);
  class Gathering;
  // Adds entries from the shared tiers to the results at the indices `missing`.
  void FindShared(const std::vector<Place>& places, absl::Span<const int> missing, bool presence,
                  const std::string& upstream, proto::LookupReply* reply, Gathering* gathering);
  // Stores the entry that came from `source`; null if it is refused.
  EntryPtr Keep(const Place& place, std::string bytes, const std::string& source,
                const std::string& upstream);

  // Runs one flight, step by step, until a step ends it.
  class CompileState;
  using CompileStatePtr = std::shared_ptr<CompileState>;
  // Begins a flight; `reports`: for a request of stage reports.
  Flights::Control Start(const CompileStatePtr& state, bool reports);
  void AskShared(const CompileStatePtr& state);
  void TakeShared(const CompileStatePtr& state, SharedTiers::Fetched found);
  void AskDelegates(const CompileStatePtr& state);
  void TakeDelegated(const CompileStatePtr& state, absl::StatusOr<proto::DelegateReply> answer);
  // Parses `answer`. A failure says why it cannot be used.
  absl::Status Accept(const CompileState& state, const absl::StatusOr<proto::DelegateReply>& answer,
                      Compiled* compiled) const;
  void AskWorker(const CompileStatePtr& state);
  void TakeResult(const CompileStatePtr& state, absl::StatusOr<Frame> frame);
  // Stores the entry in all tiers, except those behind the tier it came `from`; releases the lease.
  void KeepResult(const CompileState& state, EntryPtr entry, const std::string& from);

  const Parts parts_;
  Flights flights_;
  MissReasons miss_reasons_;
  CompileTimes compile_times_;
  std::atomic<uint64_t> unshared_{0};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_COMPILE_SERVICE_H_
