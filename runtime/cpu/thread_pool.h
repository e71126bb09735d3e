// Threads for parallel loops: those of the process, or of a part of it.
//
// A range is dealt in shares (shares.h), and threads without work steal: a thread that is late or
// busy never holds up the range. The caller is thread 0 and waits only for threads that have taken
// a chunk. It thus never waits for a parked thread to wake up.
//
// For each of many threads, the caller of a launch only deals a share. Threads that arrive wake
// others, and they enter and leave by a word that eight of them share.
//
// After a launch threads spin for a moment, so that the next one meets them awake, then park. They
// do not spin where they were preempted while doing so: then another program needs the core.
//
// Thread safety: TryRun may be called from any thread, also from within a task. Only one range runs
// on a pool at a time. fork: the child gets a process pool of its own. It has no threads of other
// pools: there, loops run on their callers.
#ifndef KILN_RUNTIME_CPU_THREAD_POOL_H_
#define KILN_RUNTIME_CPU_THREAD_POOL_H_

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/abi.h"
#include "runtime/cpu/executor.h"
#include "runtime/cpu/shares.h"

namespace kiln {

// CPUs that this process may use.
int DefaultThreads();

// Monotonic nanoseconds.
int64_t NowNanoseconds();

// The number of threads that a loop may use, of those of `executor` (null: the process's pool).
// `max_threads` 0: no limit by the caller.
inline int ThreadLimit(const Executor* executor, int max_threads) {
  // A limit beyond the number of CPUs is the user's choice.
  if (executor == nullptr) {
    return max_threads > 0 ? std::min(max_threads, kMaxPoolThreads) : DefaultThreads();
  }
  const int most = std::clamp(executor->concurrency(), 1, kMaxPoolThreads);
  return max_threads > 0 ? std::min(max_threads, most) : most;
}

class ThreadPool final : public Executor {
 public:
  static constexpr int kThreadsOfGroup = 8;  // that enter a launch by one gate

  // The pool of this process. Never destroyed.
  static ThreadPool& Get();

  // A pool of up to `max_threads` threads, the callers of TryRun included; 0: as many as the
  // process has CPUs. Starts them when they are first needed.
  explicit ThreadPool(int max_threads);
  // Ends and joins the threads. Requires that no launch uses the pool any more.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False if another launch has the pool, and in a forked child. Reports the caller's iterations.
  bool TryRun(const KilnContext& ctx, const Range& range, int64_t* iterations,
              int64_t* nanoseconds) override;
  bool Awake(int threads) const override;
  int concurrency() const override { return IsOfParent() ? 1 : concurrency_; }
  bool has_own_threads() const override { return true; }

  // Starts all threads now, unless a launch has the pool, which then starts them.
  void StartAll();

  // Threads started so far, the caller not counted.
  int started() const { return started_.load(std::memory_order_relaxed); }

 private:
  // epoch:32 | threads:12 | open:1 | waiting:1 | active:18. A group's threads enter while it is
  // open by counting themselves in; the caller closes it when no chunk is left.
  struct alignas(64) Gate {
    std::atomic<uint64_t> word{0};
  };
  struct alignas(64) Worker {
    std::atomic<uint32_t> parked{0};
  };

  enum class Threads { kDetached, kJoined };
  ThreadPool(Threads threads, int concurrency, int max_threads);
  static void ForgetInChild();
  // Whether the pool was made before a fork: its threads are not in this process.
  bool IsOfParent() const;
  void Start(int threads);
  void Open(int threads);
  // Wakes two of the parked threads that the launch has not looked at yet. Each that arrives does
  // so, so that their number doubles, whichever of them are late.
  void WakeSome(int threads);
  bool Wake(int index);
  void WorkerLoop(int index, uint32_t seen_epoch);
  // Takes chunks until none is left. Returns the number of iterations that it ran.
  int64_t Work(int index);
  void WaitForWorkers(int threads);
  static void WaitFor(std::atomic<uint64_t>& gate);
  // Waits for an epoch other than `seen`: spinning, unless told not to before
  // that time, then parked.
  void AwaitEpoch(int index, uint32_t seen, int64_t* no_spin_before);

  // The first is also what announces a launch: all threads wait for its epoch.
  Gate gates_[kMaxPoolThreads / kThreadsOfGroup];
  alignas(64) std::atomic<bool> busy_{false};  // owned by one launch
  std::atomic<int> parked_{0};
  std::atomic<int> started_{0};
  const int cpus_;
  const int concurrency_, max_threads_;
  const uint32_t generation_;  // of forks, at construction
  const bool joins_;
  std::vector<pthread_t> joined_;  // the threads to join

  // Written by the launch that owns the pool while the gates are closed and no worker is inside;
  // read by workers that entered.
  alignas(64) KilnContext ctx_;
  Range range_;
  Shares shares_;
  // The next thread that WakeSome looks at.
  alignas(64) std::atomic<int> next_to_wake_{0};
  Worker workers_[kMaxPoolThreads];
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_THREAD_POOL_H_
