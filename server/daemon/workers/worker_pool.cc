#include "server/daemon/workers/worker_pool.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/wire/error_detail.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

constexpr absl::Duration kLookForMemory = absl::Milliseconds(500);
constexpr absl::Duration kMinRetry = absl::Milliseconds(50);
constexpr absl::Duration kMaxRetry = absl::Seconds(5);
// A worker's turn with one tenant. Replacing it for each job of another tenant would cost more: a
// start takes longer than most jobs.
constexpr absl::Duration kTurn = absl::Milliseconds(100);
// With several tenants, a worker that was idle for this time is replaced, so that it is fresh for
// the next tenant.
constexpr absl::Duration kIdle = absl::Milliseconds(250);

// What a worker does, for messages.
std::string WorkOf(const WorkerPool::Task& task) {
  const bool links = task.type == FrameType::kLink;
  const absl::string_view unnamed = links ? "a module" : "a kernel";
  return absl::StrCat(links ? "linking " : "compiling ",
                      task.name.empty() ? unnamed : absl::string_view(task.name));
}

}  // namespace

class WorkerPool::Job {
 public:
  Job(Task task, Done done) : task(std::move(task)), done(std::move(done)) {}

  const Task task;
  const Done done;
  const bool warm = task.priority == proto::PRIORITY_WARM;
  const absl::Time queued = SteadyNow();
  absl::Time began;  // of the slot that runs it
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
    // A full counter means an unread wake-up.
    if (write(wake_fd_, &one, sizeof one) < 0) return;
  }

  // The members below are guarded by the pool's mutex.
  //
  // Whether the slot waits for a job.
  bool idle() const { return idle_; }
  // Idle, with a worker that any tenant may use.
  bool ready() const { return idle_ && fresh_; }
  // How well its worker suits a tenant: lower is better.
  int Distance(const std::string& tenant) const { return tenant_ == tenant ? 0 : fresh_ ? 1 : 2; }
  // The tenant that its worker has served for less than a turn; null if there is none.
  const std::string* stay() const {
    return tenant_.has_value() && turn_ < kTurn ? &*tenant_ : nullptr;
  }

 private:
  enum class Wait { kJob, kIdle, kStop };

  void Work();
  std::shared_ptr<Job> NextJob();
  // Waits for a job for this slot, or until a worker that belongs to one tenant has been idle too
  // long.
  Wait AwaitJob();
  // The next job, if it is still queued and memory allows.
  std::shared_ptr<Job> TakeJob(bool room);
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
  // Changed by this thread alone, under the pool's mutex. They describe the worker correctly while
  // the slot is idle.
  bool idle_ = false;
  bool fresh_ = false;                  // the worker runs, and has had no job
  absl::optional<std::string> tenant_;  // the owner of its jobs
  absl::Duration turn_;                 // the duration of those jobs
  std::atomic<const Job*> current_{nullptr};
  std::unique_ptr<WorkerProcess> worker_;  // used by this thread only
  uint64_t generation_ = 0;                // of worker_
  std::thread thread_;
};

void WorkerPool::Slot::Work() {
  StartAhead();
  while (std::shared_ptr<Job> job = NextJob()) {
    job->began = SteadyNow();
    Metrics::Get().histogram("kiln_queue_seconds")->Observe(job->began - job->queued);
    current_ = job.get();
    absl::StatusOr<Frame> result = RunJob(*job);
    current_ = nullptr;
    // Before Finish: its callback may answer a client, which should not wait for a worker's end.
    RetireIfSpent();
    Finish(*job, std::move(result));
    job.reset();
    // Starts a worker before the next job arrives.
    if (worker_ == nullptr) EnsureWorker().IgnoreError();
  }
  worker_.reset();
}

// The workers start one after the other, so that the first is ready early, unless jobs are waiting.
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
      // The first worker starts in any case: without one nothing works. The others wait for memory.
      index_ == 0 || pool_->options_.room() ? EnsureWorker() : absl::CancelledError();
  if (!status.ok() && !absl::IsCancelled(status)) Log("worker ", index_, ": ", status.message());
  absl::MutexLock lock(&pool_->mutex_);
  ++pool_->started_;
}

std::shared_ptr<WorkerPool::Job> WorkerPool::Slot::NextJob() {
  while (true) {
    const Wait wait = AwaitJob();
    if (wait == Wait::kStop) return nullptr;
    // Several tenants share the pool, and this worker is tied to one of them that sends nothing.
    if (wait == Wait::kIdle) {
      worker_.reset();
      EnsureWorker().IgnoreError();
      continue;
    }
    const bool room = pool_->options_.room();  // reads files, so not under the lock
    if (std::shared_ptr<Job> job = TakeJob(room)) return job;
    // Another slot took the job.
    if (room) continue;
    // Other workers are busy: frees this worker's memory for them.
    worker_.reset();
    absl::MutexLock lock(&pool_->mutex_);
    auto alone = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
      return pool_->stopping_ || pool_->running_ == 0;
    };
    pool_->mutex_.AwaitWithTimeout(absl::Condition(&alone), kLookForMemory);
  }
}

WorkerPool::Slot::Wait WorkerPool::Slot::AwaitJob() {
  const bool has_worker = worker_ != nullptr;
  const bool fresh = has_worker && worker_->jobs() == 0;
  absl::MutexLock lock(&pool_->mutex_);
  if (!has_worker || fresh) tenant_.reset();  // a new worker can serve any tenant
  fresh_ = fresh;
  idle_ = true;
  const auto has_jobs = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
    return pool_->stopping_ || !pool_->queue_.empty();
  };
  // Costly to ask, since it compares all slots. While the queue is empty, the cheaper has_jobs
  // waits.
  const auto has_job = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
    return pool_->stopping_ || pool_->IsFor(*this);
  };
  bool tired = false;
  while (!has_job() && !tired) {
    const bool replaces = tenant_.has_value() && pool_->WantsFresh();
    // Nothing can change without a new job, so no time limit is needed and an idle daemon never
    // wakes.
    if (pool_->queue_.empty() && !replaces) {
      pool_->mutex_.Await(absl::Condition(&has_jobs));
    } else {
      // Shares also change with time, so the wait has a limit.
      tired = !pool_->mutex_.AwaitWithTimeout(absl::Condition(&has_job), kIdle) && replaces &&
              pool_->WantsFresh();
    }
  }
  idle_ = false;
  return pool_->stopping_ ? Wait::kStop : tired ? Wait::kIdle : Wait::kJob;
}

std::shared_ptr<WorkerPool::Job> WorkerPool::Slot::TakeJob(bool room) {
  std::shared_ptr<Job> job;
  bool strange = false;
  {
    absl::MutexLock lock(&pool_->mutex_);
    // Without memory for another job, wait; but one job may always run, so the queue never stalls.
    if (!room && pool_->running_ > 0) return nullptr;
    const absl::Time now = SteadyNow();
    const auto may = [&](const JobOwner& owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool_->mutex_) {
      return pool_->shares_.May(owner, now);
    };
    job = pool_->queue_.Pop(may, stay()).value_or(nullptr);
    if (job == nullptr) return nullptr;
    ++pool_->running_;
    pool_->shares_.Began(job->task.owner, now);
    // The pool prefers a worker of the same tenant, then a fresh one. This one had neither.
    strange = tenant_.has_value() && tenant_ != job->task.owner.tenant;
    if (strange || !tenant_.has_value()) turn_ = absl::ZeroDuration();
    tenant_ = job->task.owner.tenant;
    fresh_ = false;
  }
  // A worker that compiled for one tenant could leak its data to the next. Killing it takes time,
  // so this happens without the lock.
  if (strange) worker_.reset();
  return job;
}

void WorkerPool::Slot::Finish(Job& job, absl::StatusOr<Frame> result) {
  {
    absl::MutexLock lock(&pool_->mutex_);
    const absl::Time now = SteadyNow();
    --pool_->running_;
    pool_->shares_.Ended(job.task.owner, now);
    // After a full turn, other tenants' jobs come first (stay).
    turn_ += now - job.began;
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
  // Renew() begins a new generation when the compiler's files were replaced.
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
    // The client is better off without this daemon.
    // The part "compiler" ends a daemon that only clients use (Handler::Handle).
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
  absl::StatusOr<Frame> frame =
      worker_->Run(job.task.type, job.task.request, start + pool_->options_.job_limit);
  // Jobs that ran into the limit count, too: the queue really took that long.
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
  Log("worker ", index_, ": ", WorkOf(job.task), " ", what);
  return absl::Status(frame.status().code(), what);
}

absl::StatusOr<Frame> WorkerPool::Slot::RunJob(const Job& job) {
  absl::StatusOr<Frame> frame = absl::CancelledError("cancelled");
  std::string what;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (Stopped(&job)) return absl::CancelledError("cancelled");
    absl::Status ready = EnsureWorker();
    // A worker that cannot start is not retried.
    if (!ready.ok()) return ready;
    frame = Attempt(job);
    if (frame.ok() || absl::IsCancelled(frame.status())) return frame;
    what = std::string(frame.status().message());
    // A retry would take as long again.
    if (absl::IsDeadlineExceeded(frame.status())) break;
    if (attempt > 0) absl::StrAppend(&what, ", twice");
  }
  // A kernel that killed two workers, or took too long, would do so again. It is refused for a
  // while, so that its client's retries cost no more workers.
  pool_->poisons_.Add(job.task.place, what, SteadyNow());
  absl::Status status(absl::IsDeadlineExceeded(frame.status()) ? absl::StatusCode::kDeadlineExceeded
                                                               : absl::StatusCode::kInternal,
                      absl::StrCat(WorkOf(job.task), " ", what));
  SetPart(&status, "kernel");
  return status;
}

void WorkerPool::Slot::RetireIfSpent() {
  if (worker_ == nullptr) return;
  if (worker_->jobs() >= pool_->options_.max_jobs ||
      // LLVM's caches and fragmentation grow with the jobs. A new worker costs less than that
      // memory.
      worker_->ResidentBytes() > pool_->options_.max_resident_bytes) {
    worker_.reset();
  }
}

WorkerPool::WorkerPool(const PoolOptions& options) : options_(options), shares_(options.workers) {
  // Under the lock, because slots inspect each other.
  absl::MutexLock lock(&mutex_);
  slots_.reserve(options.workers);
  for (int i = 0; i < options.workers; ++i) slots_.push_back(std::make_unique<Slot>(this, i));
}

WorkerPool::~WorkerPool() {
  std::vector<std::shared_ptr<Job>> left;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    const auto all = [](const JobOwner&) { return true; };
    // Their callbacks run without the lock: they may ask the pool again.
    while (!queue_.empty()) left.push_back(*queue_.Pop(all, nullptr));
  }
  for (const std::shared_ptr<Job>& job : left) job->done(absl::CancelledError("kilnd is stopping"));
  for (std::unique_ptr<Slot>& slot : slots_) slot->Wake();
  slots_.clear();
}

absl::StatusOr<std::shared_ptr<WorkerPool::Job>> WorkerPool::Submit(Task task, Done done) {
  if (absl::Status poison = poisons_.Check(task.place, task.name, SteadyNow()); !poison.ok()) {
    return poison;
  }
  auto job = std::make_shared<Job>(std::move(task), std::move(done));
  std::shared_ptr<Job> left;
  absl::Status full;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return absl::UnavailableError("kilnd is stopping");
    if (IsFull(job->warm)) {
      full = QueueFull();
      // A caller with a long queue gives way to one with a short queue; so one caller cannot lock
      // out others.
      left = queue_.MakeRoomFor(job->task.owner, job->warm).value_or(nullptr);
      if (left == nullptr) return full;
      shares_.Left(left->task.owner, SteadyNow());
    }
    queue_.Push(job, job->task.owner, job->warm);
    shares_.Came(job->task.owner, SteadyNow());
  }
  if (left != nullptr) left->done(full);  // without the lock: the callback may submit again
  return job;
}

// Warm jobs leave room for interactive ones.
bool WorkerPool::IsFull(bool warm) const {
  return queue_.size() >= options_.max_queue ||
         (warm && queue_.warm() >= std::max<size_t>(1, options_.max_queue / 2));
}

bool WorkerPool::IsFor(const Slot& slot) const {
  if (queue_.empty()) return false;
  const absl::Time now = SteadyNow();
  const auto may = [&](const JobOwner& owner)
                       ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return shares_.May(owner, now); };
  // The job that this slot would take. It leaves it to an idle slot that suits the tenant better.
  const JobOwner* owner = queue_.Next(may, slot.stay());
  if (owner == nullptr) return false;
  const int distance = slot.Distance(owner->tenant);
  return std::none_of(slots_.begin(), slots_.end(), [&](const std::unique_ptr<Slot>& other) {
    return other->idle() && other->Distance(owner->tenant) < distance;
  });
}

bool WorkerPool::WantsFresh() const {
  return shares_.several_tenants(SteadyNow()) &&
         std::none_of(slots_.begin(), slots_.end(),
                      [](const std::unique_ptr<Slot>& slot) { return slot->ready(); });
}

// The hint lets callers retry when about half of the queue has been served.
absl::Status WorkerPool::QueueFull() const {
  absl::Status full = absl::ResourceExhaustedError(
      absl::StrCat("the compile queue is full (", queue_.size(), " jobs wait)"));
  SetPart(&full, "queue");
  const absl::Duration wait =
      usual_ * static_cast<double>(queue_.size()) / (2.0 * std::max(1, options_.workers));
  SetRetryAfter(&full, std::clamp(wait, kMinRetry, kMaxRetry));
  return full;
}

// An approximate mean of the latest jobs.
void WorkerPool::NoteSeconds(absl::Duration seconds) {
  absl::MutexLock lock(&mutex_);
  usual_ = usual_ * 0.875 + seconds * 0.125;
}

void WorkerPool::Cancel(const std::shared_ptr<Job>& job) {
  bool waited = false;
  {
    absl::MutexLock lock(&mutex_);
    job->cancelled = true;
    // Either it was still queued, or a slot runs it: which one is not known, so all are woken and
    // look.
    waited = queue_.Remove(job);
    if (waited) shares_.Left(job->task.owner, SteadyNow());
  }
  if (waited) {
    job->done(absl::CancelledError("cancelled"));
  } else {
    for (std::unique_ptr<Slot>& slot : slots_) slot->Wake();
  }
}

void WorkerPool::RaisePriority(const std::shared_ptr<Job>& job) {
  absl::MutexLock lock(&mutex_);
  queue_.RaisePriority(job);
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
