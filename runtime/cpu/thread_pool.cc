#include "runtime/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <mutex>

#include "common/base/first_use.h"
#include "runtime/fork_lock.h"

namespace kiln {
namespace {

constexpr uint64_t kActiveMask = (uint64_t{1} << 18) - 1;
constexpr uint64_t kWaiting = uint64_t{1} << 18;
constexpr uint64_t kOpen = uint64_t{1} << 19;
constexpr int kThreadsShift = 20;
constexpr int kEpochShift = 32;

// How long a thread without work spins. Longer than the pause between the launches of a program
// that does little else, but short compared with a time slice.
constexpr int64_t kSpinNanoseconds = 150'000;
// A gap between two readings of the clock that only preemption explains.
constexpr int64_t kPreemptedNanoseconds = 300'000;
constexpr int64_t kNoSpinNanoseconds = 20'000'000;
// How long the caller spins for threads that are finishing their last chunk.
constexpr int64_t kCallerSpinNanoseconds = 50'000;
constexpr int kPausesPerLook = 8;

uint32_t Epoch(uint64_t gate) { return static_cast<uint32_t>(gate >> kEpochShift); }
// 0 in the epoch that ends a pool.
int ThreadsOf(uint64_t gate) { return static_cast<int>((gate >> kThreadsShift) & 0xfff); }

// Of this process, which counts forks from now on.
uint32_t WatchedGeneration() {
  ForkGeneration::Watch();
  return ForkGeneration::Get();
}

// The futex words are halves of atomics that are otherwise accessed whole.
void FutexWait(const void* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void FutexWake(const void* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

std::atomic<ThreadPool*> process_pool{nullptr};

}  // namespace

int DefaultThreads() {
  // The affinity mask, not the number of CPUs: containers and taskset restrict a process to some of
  // them.
  static FirstUse<int> count;
  return count.Get([] {
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) == 0
                   ? CPU_COUNT(&set)
                   : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    return std::clamp(cpus, 1, kMaxPoolThreads);
  });
}

int64_t NowNanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}

ThreadPool::ThreadPool(Threads threads, int concurrency, int max_threads)
    : cpus_(DefaultThreads()),
      concurrency_(concurrency),
      max_threads_(max_threads),
      generation_(WatchedGeneration()),
      joins_(threads == Threads::kJoined),
      ctx_(),
      range_() {}

ThreadPool::ThreadPool(int max_threads)
    : ThreadPool(Threads::kJoined, ThreadLimit(nullptr, max_threads),
                 ThreadLimit(nullptr, max_threads)) {}

ThreadPool::~ThreadPool() {
  // The child of a fork has copies of the threads' handles, but no threads.
  if (IsOfParent() || joined_.empty()) return;
  std::atomic<uint64_t>& gate = gates_[0].word;
  const uint32_t epoch = Epoch(gate.load(std::memory_order_relaxed)) + 1;
  gate.store(uint64_t{epoch} << kEpochShift, std::memory_order_seq_cst);
  for (int t = 1; t <= started(); ++t) Wake(t);
  for (const pthread_t thread : joined_) pthread_join(thread, nullptr);
}

bool ThreadPool::IsOfParent() const { return generation_ != ForkGeneration::Get(); }

// The child has none of the threads, and the pool may have been in use. The child abandons it and
// creates a new one on demand.
void ThreadPool::ForgetInChild() { process_pool.store(nullptr, std::memory_order_relaxed); }

ThreadPool& ThreadPool::Get() {
  ThreadPool* pool = process_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  // Registered with the first pool, since a program that never shares a loop needs no handler.
  static std::once_flag at_fork;
  std::call_once(at_fork, [] { pthread_atfork(nullptr, nullptr, &ThreadPool::ForgetInChild); });
  auto* made = new ThreadPool(Threads::kDetached, DefaultThreads(), kMaxPoolThreads);
  if (process_pool.compare_exchange_strong(pool, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *pool;
}

bool ThreadPool::Awake(int threads) const {
  if (IsOfParent() || started_.load(std::memory_order_relaxed) < threads - 1) return false;
  // The usual case in a burst of launches: one load instead of one per thread.
  if (parked_.load(std::memory_order_relaxed) == 0) return true;
  for (int t = 1; t < threads; ++t) {
    if (workers_[t].parked.load(std::memory_order_relaxed) != 0) return false;
  }
  return true;
}

void ThreadPool::Start(int threads) {
  struct Birth {
    ThreadPool* pool;
    int index;
    uint32_t epoch;
  };
  // Blocks signals in the pool's threads: they belong to the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int started = started_.load(std::memory_order_relaxed);
  // Threads are only ever added. The caller owns the pool (busy_), so no other thread starts some.
  for (; started < threads - 1; ++started) {
    // The epoch before this launch's: the new thread takes the launch for a new one and joins it.
    auto* birth =
        new Birth{this, started + 1, Epoch(gates_[0].word.load(std::memory_order_relaxed))};
    pthread_t thread;
    auto entry = [](void* raw) -> void* {
      auto* birth = static_cast<Birth*>(raw);
      Birth copy = *birth;
      delete birth;
      copy.pool->WorkerLoop(copy.index, copy.epoch);
      return nullptr;
    };
    // The system refuses more threads: continue with the existing ones.
    if (pthread_create(&thread, nullptr, entry, birth) != 0) {
      delete birth;
      break;
    }
    pthread_setname_np(thread, "kiln");
    if (joins_) {
      joined_.push_back(thread);
    } else {
      pthread_detach(thread);
    }
  }
  started_.store(started, std::memory_order_relaxed);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::StartAll() {
  if (IsOfParent() || busy_.exchange(true, std::memory_order_acquire)) return;
  if (started() < concurrency_ - 1) Start(concurrency_);
  busy_.store(false, std::memory_order_release);
}

bool ThreadPool::TryRun(const KilnContext& ctx, const Range& range, int64_t* iterations,
                        int64_t* nanoseconds) {
  if (IsOfParent()) return false;
  // Never waits. A second launch, or one within a task, runs its loop on its own thread.
  if (busy_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  const int threads = std::min(range.threads, max_threads_);
  if (started_.load(std::memory_order_relaxed) < threads - 1) Start(threads);
  ctx_ = ctx;
  range_ = range;
  range_.threads = threads;
  shares_.Deal(range.end - range.begin, range.chunk, range.unit, threads);
  Open(threads);
  const int64_t start = NowNanoseconds();
  *iterations = Work(0);
  *nanoseconds = NowNanoseconds() - start;
  WaitForWorkers(threads);
  busy_.store(false, std::memory_order_release);
  return true;
}

void ThreadPool::Open(int threads) {
  next_to_wake_.store(1, std::memory_order_relaxed);
  // The gates are closed and empty, so only this thread writes them.
  const uint32_t epoch = Epoch(gates_[0].word.load(std::memory_order_relaxed)) + 1;
  const uint64_t open =
      uint64_t{epoch} << kEpochShift | static_cast<uint64_t>(threads) << kThreadsShift | kOpen;
  for (int t = kThreadsOfGroup; t < threads; t += kThreadsOfGroup) {
    gates_[t / kThreadsOfGroup].word.store(open, std::memory_order_relaxed);
  }
  // seq_cst, as is the count of parked threads: at least one of the two sides sees the other's
  // write.
  gates_[0].word.store(open, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) != 0) WakeSome(threads);
}

bool ThreadPool::Wake(int index) {
  std::atomic<uint32_t>& parked = workers_[index].parked;
  // Clearing the flag is the wake-up; the system call only ends the wait. The thread that clears it
  // makes the call.
  if (parked.load(std::memory_order_relaxed) == 0 ||
      parked.exchange(0, std::memory_order_acq_rel) == 0) {
    return false;
  }
  FutexWake(&parked);
  return true;
}

void ThreadPool::WakeSome(int threads) {
  const int last = std::min(threads - 1, started());
  for (int woken = 0; woken < 2;) {
    if ((gates_[0].word.load(std::memory_order_relaxed) & kOpen) == 0) return;
    const int index = next_to_wake_.fetch_add(1, std::memory_order_relaxed);
    if (index > last) return;
    woken += Wake(index) ? 1 : 0;
  }
}

int64_t ThreadPool::Work(int index) {
  // A copy: the compiler cannot know that tasks do not write to the pool.
  const Range range = range_;
  int64_t done = 0;
  Chunk chunk;
  while (shares_.Take(index, &chunk)) {
    // The chunk that was just taken is dropped: the launch has failed.
    if (__atomic_load_n(ctx_.failed, __ATOMIC_RELAXED) != 0) break;
    range.run(&ctx_, range.begin + chunk.begin, range.begin + chunk.end, index);
    done += chunk.end - chunk.begin;
  }
  return done;
}

void ThreadPool::WaitForWorkers(int threads) {
  // No worker can enter from here on. Those inside finish the chunks that they took.
  for (int t = 0; t < threads; t += kThreadsOfGroup) {
    gates_[t / kThreadsOfGroup].word.fetch_and(~kOpen, std::memory_order_acq_rel);
  }
  for (int t = 0; t < threads; t += kThreadsOfGroup) WaitFor(gates_[t / kThreadsOfGroup].word);
}

void ThreadPool::WaitFor(std::atomic<uint64_t>& gate) {
  if ((gate.load(std::memory_order_acquire) & kActiveMask) == 0) return;
  const int64_t give_up = NowNanoseconds() + kCallerSpinNanoseconds;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if ((gate.load(std::memory_order_acquire) & kActiveMask) == 0) return;
      _mm_pause();
    }
  } while (NowNanoseconds() < give_up);
  // From here on the last worker to leave wakes this thread. It reads the flag in the same word in
  // which it counts itself out, so the wake-up cannot be missed.
  uint64_t word = gate.fetch_or(kWaiting, std::memory_order_acq_rel) | kWaiting;
  while ((word & kActiveMask) != 0) {
    FutexWait(&gate, static_cast<uint32_t>(word));  // the low half, little-endian
    word = gate.load(std::memory_order_acquire);
  }
}

void ThreadPool::WorkerLoop(int index, uint32_t seen) {
  int64_t no_spin_before = 0;
  for (;;) {
    AwaitEpoch(index, seen, &no_spin_before);
    const uint64_t launch = gates_[0].word.load(std::memory_order_acquire);
    const int threads = ThreadsOf(launch);
    if (threads == 0) return;
    seen = Epoch(launch);
    if (index >= threads) {
      // Launches of fewer threads do not keep this one spinning.
      no_spin_before = std::max(no_spin_before, NowNanoseconds() + kSpinNanoseconds);
      continue;
    }
    std::atomic<uint64_t>& gate = gates_[index / kThreadsOfGroup].word;
    // Before it enters: the caller does not wait for system calls. If the launch ends meanwhile,
    // threads wake up for nothing, or for the next launch.
    if (parked_.load(std::memory_order_relaxed) != 0) WakeSome(threads);
    uint64_t word = gate.load(std::memory_order_acquire);
    while ((word & kOpen) != 0 && Epoch(word) == seen) {
      // Enters and checks that the gate is open in one step. A closed gate means that the range is
      // finished and `range_` may already belong to the next launch.
      if (!gate.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) continue;
      Work(index);
      const uint64_t before = gate.fetch_sub(1, std::memory_order_acq_rel);
      if ((before & kWaiting) != 0 && (before & kActiveMask) == 1) FutexWake(&gate);
      break;
    }
  }
}

void ThreadPool::AwaitEpoch(int index, uint32_t seen, int64_t* no_spin_before) {
  int64_t now = NowNanoseconds();
  // Threads beyond the number of CPUs would take a core from one that works.
  if (index < cpus_ && now >= *no_spin_before) {
    const int64_t until = now + kSpinNanoseconds;
    while (now < until) {
      for (int i = 0; i < kPausesPerLook; ++i) {
        if (Epoch(gates_[0].word.load(std::memory_order_relaxed)) != seen) return;
        _mm_pause();
      }
      const int64_t before = now;
      now = NowNanoseconds();
      if (now - before > kPreemptedNanoseconds) {
        *no_spin_before = now + kNoSpinNanoseconds;
        break;
      }
    }
  }
  std::atomic<uint32_t>& parked = workers_[index].parked;
  while (Epoch(gates_[0].word.load(std::memory_order_seq_cst)) == seen) {
    parked.store(1, std::memory_order_relaxed);
    parked_.fetch_add(1, std::memory_order_seq_cst);
    // A launch of fewer threads leaves this one parked: it reads the epoch later.
    if (Epoch(gates_[0].word.load(std::memory_order_seq_cst)) == seen) {
      while (parked.load(std::memory_order_acquire) != 0) FutexWait(&parked, 1);
    }
    parked_.fetch_sub(1, std::memory_order_relaxed);
  }
  parked.store(0, std::memory_order_relaxed);
}

}  // namespace kiln
