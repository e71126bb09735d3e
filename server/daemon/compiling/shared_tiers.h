// kilnd's side of the tiers that machines share. It starts the process kilnd-remote when such tiers
// are configured or a client names an upstream. It sends it requests over frames
// (proto/remote.proto), and restarts it when it exits or hangs.
//
// Nothing here waits for a network: a request gets a miss when its time is over. Stores wait in a
// bounded queue and are dropped when it is full. Thread-safe.
#ifndef KILN_SERVER_DAEMON_COMPILING_SHARED_TIERS_H_
#define KILN_SERVER_DAEMON_COMPILING_SHARED_TIERS_H_

#include <sys/types.h>

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/artifact/compiler_ids.h"
#include "common/base/digest.h"
#include "common/wire/framing.h"
#include "kiln/proto/config.pb.h"
#include "kiln/proto/remote.pb.h"
#include "server/cache/artifact_store.h"

namespace kiln {

class SharedTiers {
 public:
  struct Options {
    std::string program;   // kilnd-remote
    std::string worker;    // kiln-worker, for remote execution
    proto::Config config;  // only `tier` and `execution` matter
    // Called on a thread of ours: may block.
    std::function<absl::StatusOr<CompilerIds>()> compiler;
  };
  // An entry; or the right to compile; or neither.
  struct Fetched {
    std::string entry;  // unchecked
    std::string tier;
    std::string lease;  // for Store or Release
    bool waited = false;
  };
  struct Stats {
    uint64_t starts = 0;    // of kilnd-remote
    uint64_t timeouts = 0;  // requests that it did not answer in time
    uint64_t dropped = 0;   // entries not stored because the queue was full
    uint64_t waits = 0;     // fetches that waited for another machine's compilation
    size_t queued_bytes = 0;
  };
  using OnFetched = std::function<void(Fetched)>;
  using OnDelegated = std::function<void(absl::StatusOr<proto::DelegateReply>)>;

  // The configuration for kilnd-remote.
  static proto::Configure ToAsk(const Options& options);

  // Starts no process until there is a request; returns at once.
  explicit SharedTiers(Options options);
  ~SharedTiers() { Stop(); }

  // Briefly continues queued stores, then ends kilnd-remote. Answers all requests; does nothing
  // from then on.
  void Stop();

  // Whether there is any tier to ask: if not, all requests are answered at once. Requests with an
  // `upstream` (a serialised proto::Upstream) ask it as well.
  bool serves(const std::string& upstream) const { return configured_ || !upstream.empty(); }
  // The tiers' names; known once kilnd-remote has started.
  bool delegates(const std::string& upstream) const;
  // How long an unrenewed lease lives.
  absl::Duration lease_ttl() const { return lease_ttl_; }

  // Looks for the entry at `place`. Waits up to `wait` for the machine that compiles it, or takes
  // the lease. `done` is called exactly once, perhaps by this call, else on a thread that must not
  // block. Returns a number for Cancel.
  uint64_t Fetch(const Place& place, const std::string& upstream, absl::Duration wait,
                 OnFetched done);
  // Looks for the entries at `places`; waits no longer than the tiers' own limits.
  std::vector<Fetched> Find(absl::Span<const Place> places, const std::string& upstream);
  // Has a serialised CompileRequest compiled remotely, within `wait`. A failure means that
  // kilnd-remote does not run.
  uint64_t Delegate(std::string request, const Key& key, const std::string& upstream,
                    absl::Duration wait, OnDelegated done);
  // Answers the request now, as a miss; releases a lease that arrives later.
  void Cancel(uint64_t request);

  // Stores `entry` in all tiers, or, if it came `from` one, in those before it; releases the lease.
  void Store(const Place& place, EntryPtr entry, const std::string& lease, const std::string& from);
  // `fruitless`: compiling it gives no entry.
  void Release(const std::string& lease, bool fruitless = false);

  Stats stats() const;

 private:
  // A request that kilnd-remote has not answered yet.
  struct Request {
    absl::Time deadline;
    bool ping = false;
    std::function<void(absl::StatusOr<Frame>)> done;
    size_t stores = 0;  // bytes of an entry
  };
  struct Outgoing {
    uint32_t id;
    FrameType type;
    std::string body;  // of a Store: serialised when it is sent
    Place place;
    EntryPtr entry;
    std::string lease, from;
  };

  uint64_t Ask(FrameType type, std::string body, absl::Duration limit,
               std::function<void(absl::StatusOr<Frame>)> done);
  void AskForLife() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Supervise();     // thread: restarts the process
  absl::Status Live();  // runs one process, from its start to its end
  absl::StatusOr<int> StartProcess();
  absl::Status Configure(int fd);
  absl::Status Read(int fd);
  void Take(Frame frame);
  void FailAll(const absl::Status& why);
  void EndProcess();
  void Write();  // thread: sends requests
  void Time();   // thread: enforces time limits

  const Options options_;
  const bool configured_;
  const absl::Duration get_limit_;  // of all tiers together
  const absl::Duration lease_ttl_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint32_t, Request> requests_ ABSL_GUARDED_BY(mutex_);
  std::deque<Outgoing> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of entries that are not stored yet
  uint32_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint32_t ping_ ABSL_GUARDED_BY(mutex_) = 0;  // the id of the request that checks liveness
  absl::Time pinged_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int fd_ ABSL_GUARDED_BY(mutex_) = -1;  // of a configured process
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool down_ ABSL_GUARDED_BY(mutex_) = false;  // it does not start: every request misses
  bool delegates_ ABSL_GUARDED_BY(mutex_) = false;
  Stats stats_ ABSL_GUARDED_BY(mutex_);

  pid_t pid_ = -1;  // of the supervising thread
  std::thread supervisor_;
  std::thread writer_;
  std::thread timer_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_SHARED_TIERS_H_
