// kilnd's side of the tiers that machines share: a process, kilnd-remote, that is
// started when such tiers are configured or a client names an upstream, asked over frames
// (proto/remote.proto), and started anew when it ends or hangs.
//
// Nothing here waits for a network: who asks gets a miss when its time is over, what is
// to be stored stands in a bounded queue and is dropped where that is full. Thread-safe.
#ifndef KILN_SERVER_DAEMON_SHARED_TIERS_H_
#define KILN_SERVER_DAEMON_SHARED_TIERS_H_

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
#include "lang/digest.h"
#include "lang/framing.h"
#include "proto/config.pb.h"
#include "proto/remote.pb.h"
#include "server/cache/artifact_store.h"

namespace kiln {

class SharedTiers {
 public:
  struct Options {
    std::string program;   // kilnd-remote
    std::string worker;    // kiln-worker, for remote execution
    proto::Config config;  // of which `tier` and `execution` count
    // Asked by a thread of ours: may take its time.
    std::function<absl::StatusOr<Digest>()> compiler;
  };
  // What was found; or the right to compile; or neither.
  struct Fetched {
    std::string entry;  // not checked
    std::string tier;
    std::string lease;  // to be given to Store or Release
    bool waited = false;
  };
  struct Stats {
    uint64_t starts = 0;    // of kilnd-remote
    uint64_t timeouts = 0;  // requests that it did not answer in time
    uint64_t dropped = 0;   // entries not stored, for the queue was full
    uint64_t waits = 0;     // fetches that waited for another machine's compilation
    size_t queued_bytes = 0;
  };
  using OnFetched = std::function<void(Fetched)>;
  using OnDelegated = std::function<void(absl::StatusOr<proto::DelegateReply>)>;

  // What kilnd-remote is told to ask.
  static proto::Configure ToAsk(const Options& options);

  // Starts nothing until there is something to ask; returns at once.
  explicit SharedTiers(Options options);
  ~SharedTiers() { Stop(); }

  // Stores for a moment what is queued, then ends kilnd-remote. All requests are
  // answered, and nothing is done from then on.
  void Stop();

  // Whether there is anything to ask: if not, all requests are answered at once. Those
  // with an `upstream` (a serialised proto::Upstream) ask it as well.
  bool serves(const std::string& upstream) const { return configured_ || !upstream.empty(); }
  // As far as it is known yet, which is when kilnd-remote has started.
  bool delegates(const std::string& upstream) const;
  // After which a lease that is not renewed ends.
  absl::Duration lease_ttl() const { return lease_ttl_; }

  // Looks for the entry at `place`; waits up to `wait` for who compiles it, or takes the
  // right to. `done` is called exactly once, perhaps by this call, else on a thread that
  // must not be held up. Answers a number for Cancel.
  uint64_t Fetch(const Digest& place, const std::string& upstream, absl::Duration wait,
                 OnFetched done);
  // Waits for the entries at `places`: no longer than the tiers' own limits.
  std::vector<Fetched> Find(absl::Span<const Digest> places, const std::string& upstream);
  // Has a serialised CompileRequest compiled elsewhere, within `wait`. A failure: there is
  // no kilnd-remote to ask.
  uint64_t Delegate(std::string request, const Digest& key, const std::string& upstream,
                    absl::Duration wait, OnDelegated done);
  // Answers the request now, with nothing; a lease that comes later is let go.
  void Cancel(uint64_t request);

  // Stores `entry` in all tiers, or, if it came `from` one, in those before it; ends
  // the lease.
  void Store(const Digest& place, EntryPtr entry, const std::string& lease,
             const std::string& from);
  // `fruitless`: whoever compiles it makes no entry.
  void Release(const std::string& lease, bool fruitless = false);

  Stats stats() const;

 private:
  // What kilnd-remote owes us.
  struct Request {
    absl::Time deadline;
    bool ping = false;
    std::function<void(absl::StatusOr<Frame>)> done;
    size_t stores = 0;  // bytes of an entry
  };
  struct Outgoing {
    uint32_t id;
    FrameType type;
    std::string body;  // of a Store: made when it is sent
    Digest place;
    EntryPtr entry;
    std::string lease, from;
  };

  uint64_t Ask(FrameType type, std::string body, absl::Duration limit,
               std::function<void(absl::StatusOr<Frame>)> done);
  void AskForLife() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Supervise();     // a thread: the process's life
  absl::Status Live();  // one life: from its start to its end
  absl::StatusOr<int> StartProcess();
  absl::Status Configure(int fd);
  absl::Status Read(int fd);
  void Take(Frame frame);
  void FailAll(const absl::Status& why);
  void EndProcess();
  void Write();  // a thread: what is to be sent
  void Time();   // a thread: what took too long

  const Options options_;
  const bool configured_;
  const absl::Duration get_limit_;  // of all tiers together
  const absl::Duration lease_ttl_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint32_t, Request> requests_ ABSL_GUARDED_BY(mutex_);
  std::deque<Outgoing> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of entries that are not stored yet
  uint32_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint32_t ping_ ABSL_GUARDED_BY(mutex_) = 0;  // the request that asks for a sign of life
  absl::Time pinged_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int fd_ ABSL_GUARDED_BY(mutex_) = -1;  // of a process that has been configured
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool down_ ABSL_GUARDED_BY(mutex_) = false;  // it does not come up: everything misses
  bool delegates_ ABSL_GUARDED_BY(mutex_) = false;
  Stats stats_ ABSL_GUARDED_BY(mutex_);

  pid_t pid_ = -1;  // of the supervising thread
  std::thread supervisor_;
  std::thread writer_;
  std::thread timer_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SHARED_TIERS_H_
