#include "server/daemon/worker_pool.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/daemon/log.h"
#include "server/daemon/metrics.h"

namespace kiln {

class WorkerPool::Job {
 public:
  Job(std::string request, std::string name, Done done)
      : request(std::move(request)), name(std::move(name)), done(std::move(done)) {}

  const std::string request;
  const std::string name;
  const Done done;
  const absl::Time queued = absl::Now();
  std::atomic<bool> cancelled{false};
};

// One worker and its thread.
class WorkerPool::Slot {
 public:
  Slot(WorkerPool* pool, int index)
      : pool_(pool), index_(index), wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::thread([this] { Work(); });
  }
  ~Slot() {
    Wake();
    thread_.join();
    close(wake_fd_);
  }

  void Wake() {
    const uint64_t one = 1;
    // A full counter is a wake-up that is still to be read.
    if (write(wake_fd_, &one, sizeof one) < 0) return;
  }

 private:
  void Work();
  std::shared_ptr<Job> NextJob();
  void StartAhead();
  absl::Status EnsureWorker();
  absl::StatusOr<Frame> Attempt(const Job& job);
  absl::StatusOr<Frame> RunJob(const Job& job);
  void RetireIfSpent();
  bool Stopped(const Job* job) const;

  WorkerPool* const pool_;
  const int index_;
  const int wake_fd_;
  std::atomic<const Job*> current_{nullptr};
  std::unique_ptr<WorkerProcess> worker_;  // of this thread only
  uint64_t generation_ = 0;                // of worker_
  std::thread thread_;
};

void WorkerPool::Slot::Work() {
  StartAhead();
  while (std::shared_ptr<Job> job = NextJob()) {
    Metrics::Get().histogram("kiln_queue_seconds")->Observe(absl::Now() - job->queued);
    current_ = job.get();
    ++pool_->busy_;
    absl::StatusOr<Frame> result = RunJob(*job);
    current_ = nullptr;
    --pool_->busy_;
    RetireIfSpent();
    job->done(std::move(result));
    job.reset();
    // Ready again before the next job, rather than at it.
    if (worker_ == nullptr) EnsureWorker().IgnoreError();
  }
  worker_.reset();
}

// The workers start one after the other, so that the first is ready soonest,
// unless jobs are waiting for them.
void WorkerPool::Slot::StartAhead() {
  {
    absl::MutexLock lock(&pool_->mutex_);
    auto may_start = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
      return pool_->stopping_ || pool_->started_ >= index_ || !pool_->queue_.empty();
    };
    pool_->mutex_.Await(absl::Condition(&may_start));
    if (pool_->stopping_) return;
  }
  const absl::Status status = EnsureWorker();
  if (!status.ok() && !absl::IsCancelled(status)) Log("worker ", index_, ": ", status.message());
  absl::MutexLock lock(&pool_->mutex_);
  ++pool_->started_;
}

std::shared_ptr<WorkerPool::Job> WorkerPool::Slot::NextJob() {
  absl::MutexLock lock(&pool_->mutex_);
  auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
    return pool_->stopping_ || !pool_->queue_.empty();
  };
  pool_->mutex_.Await(absl::Condition(&has_work));
  if (pool_->stopping_) return nullptr;
  std::shared_ptr<Job> job = std::move(pool_->queue_.front());
  pool_->queue_.pop_front();
  return job;
}

bool WorkerPool::Slot::Stopped(const Job* job) const {
  if (job != nullptr && job->cancelled) return true;
  absl::MutexLock lock(&pool_->mutex_);
  return pool_->stopping_;
}

absl::Status WorkerPool::Slot::EnsureWorker() {
  if (worker_ != nullptr && !worker_->Alive()) {
    ++pool_->deaths_;
    Log("worker ", index_, " ended between jobs");
    worker_.reset();
  }
  const uint64_t generation = pool_->generation_;
  if (worker_ != nullptr && generation_ != generation) worker_.reset();
  if (worker_ != nullptr) return absl::OkStatus();
  WorkerProcess::Options options;
  options.program = pool_->options_.worker;
  options.memory_bytes = pool_->options_.job_bytes;
  options.wake_fd = wake_fd_;
  options.stopped = [this] { return Stopped(current_); };
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  if (!worker.ok()) return worker.status();
  worker_ = *std::move(worker);
  generation_ = generation;
  return absl::OkStatus();
}

absl::StatusOr<Frame> WorkerPool::Slot::Attempt(const Job& job) {
  absl::StatusOr<Frame> frame = worker_->Run(job.request, absl::Now() + pool_->options_.job_limit);
  if (frame.ok()) return frame;
  worker_.reset();
  if (absl::IsCancelled(frame.status())) return frame;
  ++pool_->deaths_;
  std::string what =
      absl::IsDeadlineExceeded(frame.status())
          ? absl::StrCat("took longer than ", absl::FormatDuration(pool_->options_.job_limit),
                         " (KILN_JOB_SECONDS)")
          : absl::StrCat("lost its worker: ", frame.status().message());
  Log("worker ", index_, ": compiling ", job.name, " ", what);
  return absl::Status(frame.status().code(), what);
}

absl::StatusOr<Frame> WorkerPool::Slot::RunJob(const Job& job) {
  absl::StatusOr<Frame> frame = absl::CancelledError("cancelled");
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (Stopped(&job)) return absl::CancelledError("cancelled");
    absl::Status ready = EnsureWorker();
    // One that cannot even start is not tried twice.
    if (!ready.ok()) return ready;
    frame = Attempt(job);
    if (frame.ok() || absl::IsCancelled(frame.status())) return frame;
  }
  return absl::Status(absl::IsDeadlineExceeded(frame.status()) ? absl::StatusCode::kDeadlineExceeded
                                                               : absl::StatusCode::kInternal,
                      absl::StrCat("compiling ", job.name.empty() ? "a kernel" : job.name, " ",
                                   frame.status().message(), ", twice"));
}

void WorkerPool::Slot::RetireIfSpent() {
  if (worker_ == nullptr) return;
  if (worker_->jobs() >= pool_->options_.max_jobs ||
      worker_->ResidentBytes() > pool_->options_.max_resident_bytes) {
    worker_.reset();
  }
}

WorkerPool::WorkerPool(const PoolOptions& options) : options_(options) {
  slots_.reserve(options.workers);
  for (int i = 0; i < options.workers; ++i) slots_.push_back(std::make_unique<Slot>(this, i));
}

WorkerPool::~WorkerPool() {
  std::deque<std::shared_ptr<Job>> left;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    left.swap(queue_);
  }
  for (const std::shared_ptr<Job>& job : left) job->done(absl::CancelledError("kilnd is stopping"));
  for (std::unique_ptr<Slot>& slot : slots_) slot->Wake();
  slots_.clear();
}

absl::StatusOr<std::shared_ptr<WorkerPool::Job>> WorkerPool::Submit(std::string request,
                                                                    std::string name, Done done) {
  auto job = std::make_shared<Job>(std::move(request), std::move(name), std::move(done));
  absl::MutexLock lock(&mutex_);
  if (stopping_) return absl::UnavailableError("kilnd is stopping");
  if (queue_.size() >= options_.max_queue) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the compile queue is full (", queue_.size(), " jobs wait)"));
  }
  queue_.push_back(job);
  return job;
}

void WorkerPool::Cancel(const std::shared_ptr<Job>& job) {
  bool waited = false;
  {
    absl::MutexLock lock(&mutex_);
    job->cancelled = true;
    for (auto it = queue_.begin(); it != queue_.end(); ++it) {
      if (*it != job) continue;
      queue_.erase(it);
      waited = true;
      break;
    }
  }
  if (waited) {
    job->done(absl::CancelledError("cancelled"));
  } else {
    for (std::unique_ptr<Slot>& slot : slots_) slot->Wake();
  }
}

void WorkerPool::Renew() { ++generation_; }

PoolStats WorkerPool::stats() const {
  PoolStats stats;
  stats.deaths = deaths_;
  stats.busy = busy_;
  stats.workers = slots_.size();
  absl::MutexLock lock(&mutex_);
  stats.waiting = queue_.size();
  return stats;
}

}  // namespace kiln
