// Look-ups and compilations: where a request's entry comes from, in order.
//
//   tiers (memory, disk) → a flight of the same key that is under way → shared tiers, or
//   the right to compile → who else compiles (an upstream, a cluster) → worker
//
// What a flight finds goes to memory and disk; what it makes, to the shared tiers as
// well, and lets go of the lease. All that comes from outside passes Trust first.
//
// Thread-safe; calls block while they compile. Failures of ours are Status, the
// user's mistakes are diagnostics in the reply.
#ifndef KILN_SERVER_DAEMON_COMPILE_SERVICE_H_
#define KILN_SERVER_DAEMON_COMPILE_SERVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lang/framing.h"
#include "proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/cache/counters.h"
#include "server/cache/single_flight.h"
#include "server/cache/tiered_store.h"
#include "server/cache/trust.h"
#include "server/daemon/activity.h"
#include "server/daemon/compile_times.h"
#include "server/daemon/compiler_identity.h"
#include "server/daemon/miss_reasons.h"
#include "server/daemon/quotas.h"
#include "server/daemon/shared_tiers.h"
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
  std::function<absl::Status()> step_aside;  // see StepAside
  std::string upstream;            // a serialised proto::Upstream that it wants asked; "": none
  bool upstream_required = false;  // or else have its requests fail
  std::shared_ptr<Activity::Seat> seat;      // among those connected, once it has a name
  std::shared_ptr<Quotas::Account> account;  // what it may ask for; null: anything

  // Before all that may take its time: this thread no longer serves others meanwhile.
  // ResourceExhausted: nobody else does.
  absl::Status StepAside() const { return step_aside ? step_aside() : absl::OkStatus(); }
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
    absl::Duration compile_limit;  // for requests that bring no deadline
  };

  explicit CompileService(Parts parts) : parts_(parts) {}

  // Entries are beside the replies, not in them.
  struct Looked {
    proto::LookupReply reply;
    std::vector<EntryPtr> entries;  // of each result; null: none was found, or asked for
  };
  struct Compiled {
    proto::CompileReply reply;
    EntryPtr entry;  // null: the user's mistakes are in the reply
  };

  absl::StatusOr<Looked> Lookup(const proto::LookupRequest& request, const Caller& caller);
  // Look-ups that a front answered from what it keeps: counted, and what they found is used
  // as if it had been found here.
  absl::Status CountHits(const proto::HitsRequest& hits, const Caller& caller);
  // Shared with whoever asks for the same at the same time; `joined` says whether somebody
  // else had begun.
  absl::StatusOr<std::shared_ptr<const Compiled>> Compile(proto::CompileRequest request,
                                                          const Caller& caller, bool* joined);

 private:
  using Flights = SingleFlight<Compiled>;

  // What Get or GetAtOnce of the tiers has of it.
  std::shared_ptr<const Compiled> Find(const Digest& key, const Digest& place, bool at_once);
  std::shared_ptr<const Compiled> Hit(const Digest& key, EntryPtr entry, absl::string_view tier);
  class Gathering;
  // Adds what shared tiers have of the `missing` ones among the results.
  void FindShared(const std::vector<Digest>& places, absl::Span<const int> missing, bool presence,
                  const std::string& upstream, proto::LookupReply* reply, Gathering* gathering);
  // The entry that came from `source`, kept here; null if it is refused.
  EntryPtr Keep(const Digest& place, std::string bytes, const std::string& source,
                const std::string& upstream);

  // One flight, step after step until one of them ends it.
  class Errand;
  using ErrandPtr = std::shared_ptr<Errand>;
  void AskShared(const ErrandPtr& errand);
  void TakeShared(const ErrandPtr& errand, SharedTiers::Fetched found);
  void AskDelegates(const ErrandPtr& errand);
  void TakeDelegated(const ErrandPtr& errand, absl::StatusOr<proto::DelegateReply> answer);
  // Reads `answer`; a failure says why it is not to be used.
  absl::Status Accept(const Errand& errand, const absl::StatusOr<proto::DelegateReply>& answer,
                      Compiled* compiled) const;
  void AskWorker(const ErrandPtr& errand);
  void TakeResult(const ErrandPtr& errand, absl::StatusOr<Frame> frame);
  // Everywhere, but in the tiers behind the one that it came `from`; ends the lease.
  void KeepResult(const Errand& errand, EntryPtr entry, const std::string& from);

  const Parts parts_;
  Flights flights_;
  MissReasons miss_reasons_;
  CompileTimes compile_times_;
  std::atomic<uint64_t> unshared_{0};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILE_SERVICE_H_
