#include "server/daemon/worker_pool.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lang/clock.h"
#include "lang/error_detail.h"
#include "server/daemon/log.h"
#include "server/daemon/metrics.h"

namespace kiln {
namespace {

constexpr absl::Duration kLookForMemory = absl::Milliseconds(500);
constexpr absl::Duration kMinRetry = absl::Milliseconds(50);
constexpr absl::Duration kMaxRetry = absl::Seconds(5);

absl::string_view NameOf(const WorkerPool::Task& task) {
  return task.name.empty() ? "a kernel" : absl::string_view(task.name);
}

}  // namespace

class WorkerPool::Job {
 public:
  Job(Task task, Done done) : task(std::move(task)), done(std::move(done)) {}

  const Task task;
  const Done done;
  const absl::Time queued = SteadyNow();
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
  void Finish(Job& job, absl::StatusOr<Frame> result);
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
    Metrics::Get().histogram("kiln_queue_seconds")->Observe(SteadyNow() - job->queued);
    current_ = job.get();
    absl::StatusOr<Frame> result = RunJob(*job);
    current_ = nullptr;
    RetireIfSpent();
    Finish(*job, std::move(result));
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
  const absl::Status status =
      index_ == 0 || pool_->options_.room() ? EnsureWorker() : absl::CancelledError();
  if (!status.ok() && !absl::IsCancelled(status)) Log("worker ", index_, ": ", status.message());
  absl::MutexLock lock(&pool_->mutex_);
  ++pool_->started_;
}

std::shared_ptr<WorkerPool::Job> WorkerPool::Slot::NextJob() {
  while (true) {
    {
      absl::MutexLock lock(&pool_->mutex_);
      auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
        return pool_->stopping_ || !pool_->queue_.empty();
      };
      pool_->mutex_.Await(absl::Condition(&has_work));
      if (pool_->stopping_) return nullptr;
    }
    const bool room = pool_->options_.room();  // looks into files: not under the lock
    {
      absl::MutexLock lock(&pool_->mutex_);
      if (pool_->queue_.empty()) continue;
      if (room || pool_->running_ == 0) {
        ++pool_->running_;
        return pool_->queue_.Pop();
      }
    }
    // Others work: what this worker holds is better used by them.
    worker_.reset();
    absl::MutexLock lock(&pool_->mutex_);
    auto alone = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
      return pool_->stopping_ || pool_->running_ == 0;
    };
    pool_->mutex_.AwaitWithTimeout(absl::Condition(&alone), kLookForMemory);
  }
}

void WorkerPool::Slot::Finish(Job& job, absl::StatusOr<Frame> result) {
  {
    absl::MutexLock lock(&pool_->mutex_);
    --pool_->running_;
  }
  job.done(std::move(result));
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
  options.unconfined = pool_->options_.unconfined;
  options.wake_fd = wake_fd_;
  options.stopped = [this] { return Stopped(current_); };
  options.greeted = pool_->options_.greeted;
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  if (!worker.ok()) {
    // Whoever asked does better without this daemon.
    absl::Status status = absl::FailedPreconditionError(worker.status().message());
    SetPart(&status, "compiler");
    return absl::IsCancelled(worker.status()) ? worker.status() : status;
  }
  worker_ = *std::move(worker);
  generation_ = generation;
  return absl::OkStatus();
}

absl::StatusOr<Frame> WorkerPool::Slot::Attempt(const Job& job) {
  const absl::Time start = SteadyNow();
  absl::StatusOr<Frame> frame = worker_->Run(job.task.request, start + pool_->options_.job_limit);
  if (!absl::IsCancelled(frame.status())) pool_->NoteSeconds(SteadyNow() - start);
  if (frame.ok()) return frame;
  worker_.reset();
  if (absl::IsCancelled(frame.status())) return frame;
  ++pool_->deaths_;
  std::string what =
      absl::IsDeadlineExceeded(frame.status())
          ? absl::StrCat("took longer than ", absl::FormatDuration(pool_->options_.job_limit),
                         " (KILN_JOB_SECONDS)")
          : absl::StrCat("lost its worker: ", frame.status().message());
  Log("worker ", index_, ": compiling ", job.task.name, " ", what);
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
  const std::string what = absl::StrCat(frame.status().message(), ", twice");
  pool_->poisons_.Add(job.task.key, what, SteadyNow());
  absl::Status status(absl::IsDeadlineExceeded(frame.status()) ? absl::StatusCode::kDeadlineExceeded
                                                               : absl::StatusCode::kInternal,
                      absl::StrCat("compiling ", NameOf(job.task), " ", what));
  SetPart(&status, "kernel");
  return status;
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
  std::vector<std::shared_ptr<Job>> left;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    while (!queue_.empty()) left.push_back(queue_.Pop());
  }
  for (const std::shared_ptr<Job>& job : left) job->done(absl::CancelledError("kilnd is stopping"));
  for (std::unique_ptr<Slot>& slot : slots_) slot->Wake();
  slots_.clear();
}

absl::StatusOr<std::shared_ptr<WorkerPool::Job>> WorkerPool::Submit(Task task, Done done) {
  if (absl::Status poison = poisons_.Check(task.key, task.name, SteadyNow()); !poison.ok()) {
    return poison;
  }
  const bool warm = task.priority == proto::PRIORITY_WARM;
  auto job = std::make_shared<Job>(std::move(task), std::move(done));
  absl::MutexLock lock(&mutex_);
  if (stopping_) return absl::UnavailableError("kilnd is stopping");
  // Those whom nobody waits for leave room for the others.
  const bool full = queue_.size() >= options_.max_queue ||
                    (warm && queue_.warm() >= std::max<size_t>(1, options_.max_queue / 2));
  if (full) return QueueFull();
  queue_.Push(job, warm);
  return job;
}

// Comes again when about half of those who wait have been served.
absl::Status WorkerPool::QueueFull() const {
  absl::Status full = absl::ResourceExhaustedError(
      absl::StrCat("the compile queue is full (", queue_.size(), " jobs wait)"));
  SetPart(&full, "queue");
  const absl::Duration wait =
      usual_ * static_cast<double>(queue_.size()) / (2.0 * std::max(1, options_.workers));
  SetRetryAfter(&full, std::clamp(wait, kMinRetry, kMaxRetry));
  return full;
}

// The mean of the latest jobs, more or less.
void WorkerPool::NoteSeconds(absl::Duration seconds) {
  absl::MutexLock lock(&mutex_);
  usual_ = usual_ * 0.875 + seconds * 0.125;
}

void WorkerPool::Cancel(const std::shared_ptr<Job>& job) {
  bool waited = false;
  {
    absl::MutexLock lock(&mutex_);
    job->cancelled = true;
    waited = queue_.Remove(job);
  }
  if (waited) {
    job->done(absl::CancelledError("cancelled"));
  } else {
    for (std::unique_ptr<Slot>& slot : slots_) slot->Wake();
  }
}

void WorkerPool::Hurry(const std::shared_ptr<Job>& job) {
  absl::MutexLock lock(&mutex_);
  queue_.Hurry(job);
}

void WorkerPool::Renew() { ++generation_; }

PoolStats WorkerPool::stats() const {
  PoolStats stats;
  stats.deaths = deaths_;
  stats.workers = slots_.size();
  stats.poisoned = poisons_.size();
  absl::MutexLock lock(&mutex_);
  stats.busy = running_;
  stats.waiting = queue_.size();
  return stats;
}

}  // namespace kiln
