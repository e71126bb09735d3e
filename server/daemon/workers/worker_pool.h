// The workers and the queue before them.
//
// Each worker has a thread that starts it in advance, gives it jobs and limits their time. The
// thread replaces a worker that dies, hangs, grows or gets old. A job whose worker dies is retried
// once on a fresh worker. A job that kills that one too, or takes too long, is refused for a while
// (poison_list.h). While memory is short fewer workers run, but always one.
//
// A worker serves one tenant: the effects of a malicious kernel stay among callers that share
// entries anyway. Callers take turns (job_queue.h) and have shares (shares.h).
#ifndef KILN_SERVER_DAEMON_WORKERS_WORKER_POOL_H_
#define KILN_SERVER_DAEMON_WORKERS_WORKER_POOL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/wire/framing.h"
#include "kiln/proto/service.pb.h"
#include "server/daemon/workers/job_queue.h"
#include "server/daemon/workers/memory_gauge.h"
#include "server/daemon/workers/poison_list.h"
#include "server/daemon/workers/shares.h"
#include "server/daemon/workers/worker_process.h"

namespace kiln {

struct PoolOptions {
  std::string worker;
  int workers = 1;
  size_t max_queue = 128;
  absl::Duration job_limit = absl::Seconds(120);
  uint64_t job_bytes = 0;
  int max_jobs = 1000;                                    // then the worker is replaced
  uint64_t max_resident_bytes = uint64_t{1} << 30;        // likewise
  bool unconfined = false;                                // no sandbox around the worker
  std::function<void(const proto::HelloReply&)> greeted;  // see WorkerProcess::Options
  // Whether there is memory for one more worker to compile.
  std::function<bool()> room = [gauge = MemoryGauge()] { return gauge.Room(); };
};

struct PoolStats {
  size_t waiting = 0;
  uint64_t deaths = 0;
  size_t busy = 0;
  size_t workers = 0;
  size_t poisoned = 0;  // kernels that are refused
};

class WorkerPool {
 public:
  // The worker's frame (CompileReply, LinkReply or Error), or the reason why there is none.
  using Done = std::function<void(absl::StatusOr<Frame>)>;
  class Job;

  struct Task {
    std::string request;  // a CompileRequest or LinkRequest
    std::string name;     // the kernel's, for messages
    JobOwner owner;
    // Of its entry; a link job's follows from the request. It names the tenant, so tenants do not
    // affect each other.
    Place place;
    proto::Priority priority = proto::PRIORITY_INTERACTIVE;
    FrameType type = FrameType::kCompile;
  };

  explicit WorkerPool(const PoolOptions& options);
  // Stops; running and waiting jobs end as Cancelled.
  ~WorkerPool();

  // `done` is called exactly once, on a worker's thread or another caller's of Submit. After a
  // failure it is never called:
  //   ResourceExhausted, part "queue"   the queue is full (for a warm job: half full);
  //                                     RetryAfterOf says when to retry. Also the result of a
  //                                     job that made room for another caller's
  //   Internal, part "kernel"           the kernel killed workers recently
  absl::StatusOr<std::shared_ptr<Job>> Submit(Task task, Done done);
  // Drops a waiting job, or kills the worker of a running one; `done` gets Cancelled.
  void Cancel(const std::shared_ptr<Job>& job);
  // Raises a warm job to interactive priority: a client waits for it now.
  void RaisePriority(const std::shared_ptr<Job>& job);

  // Replaces every worker before its next job: the binary changed.
  void Renew();

  PoolStats stats() const;

 private:
  class Slot;

  absl::Status QueueFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFull(bool warm) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether `slot` should take a job: one may run, and no other idle slot's worker suits it better.
  bool IsFor(const Slot& slot) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there are several tenants, and no worker is fresh enough for any of them.
  bool WantsFresh() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSeconds(absl::Duration seconds);

  const PoolOptions options_;
  PoisonList poisons_;
  mutable absl::Mutex mutex_;
  JobQueue<std::shared_ptr<Job>> queue_ ABSL_GUARDED_BY(mutex_);
  Shares shares_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // jobs taken from the queue and not finished
  absl::Duration usual_ ABSL_GUARDED_BY(mutex_) = absl::Milliseconds(100);  // time of a job
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int started_ ABSL_GUARDED_BY(mutex_) = 0;  // slots that tried to start a worker
  std::atomic<uint64_t> deaths_{0};
  std::atomic<uint64_t> generation_{0};
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WORKERS_WORKER_POOL_H_
