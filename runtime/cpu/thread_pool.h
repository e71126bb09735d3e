// The process's threads for parallel loops.
//
// A range is cut into one share per thread, each taken in chunks by its owner and,
// once the owner's neighbours have nothing left, by them: memory stays with
// the core that touched it in the launch before, and a thread that is late or busy
// never holds up the range. The caller is thread 0 and waits only for threads
// that have taken a chunk, so waking a parked one is never waited for.
//
// After a launch threads spin for a moment, so that the next one meets them awake,
// then park. They do not spin where they were preempted while doing so: then
// someone else needs the core.
//
// Thread safety: TryRun may be called from any thread, also from within a task; only
// one range runs on the pool at a time. fork: the child gets a pool of its own.
#ifndef KILN_RUNTIME_CPU_THREAD_POOL_H_
#define KILN_RUNTIME_CPU_THREAD_POOL_H_

#include <atomic>
#include <cstdint>

#include "runtime/abi.h"

namespace kiln {

inline constexpr int kMaxPoolThreads = 256;

// CPUs that this process may use.
int DefaultThreads();

// Monotonic nanoseconds.
int64_t NowNanoseconds();

class ThreadPool {
 public:
  struct Range {
    KilnTask run;
    int64_t begin, end;
    int64_t chunk;  // iterations taken at a time, >= 1
    int threads;    // 2..kMaxPoolThreads, the caller included
    // The number of iterations that threads should not divide; `chunk` is a multiple of it. With 1,
    // threads may share a cache line.
    int64_t unit = 1;
  };

  // The pool of this process. Never destroyed.
  static ThreadPool& Get();

  // Runs `range` and returns true after its end; false, without running any of it, if another
  // launch has the pool. Sets `*caller_iterations` to the number of iterations that the caller
  // itself ran, in `*caller_nanoseconds`. Ends early if `*ctx.failed` is set.
  bool TryRun(const KilnContext& ctx, const Range& range, int64_t* caller_iterations,
              int64_t* caller_nanoseconds);

  // Whether all of the first `threads` threads are awake, as far as one can tell.
  bool Awake(int threads) const;

  // Threads started so far, the caller not counted.
  int started() const { return started_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  struct alignas(64) Worker {
    std::atomic<uint32_t> parked{0};
  };

  ThreadPool();
  static void ForgetInChild();
  void Start(int threads);
  void Wake(int threads);
  void WorkerLoop(int index, uint32_t seen_epoch);
  // Takes chunks until none is left. Returns the number of iterations that it ran.
  int64_t Work(int index);
  void WaitForWorkers();
  // Waits for an epoch other than `seen`: spinning, unless told not to before
  // that time, then parked.
  void AwaitEpoch(int index, uint32_t seen, int64_t* no_spin_before);

  // epoch:32 | threads:12 | open:1 | waiting:1 | active:18. Workers enter while it
  // is open by counting themselves in; the caller closes it when nothing is left.
  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<bool> busy_{false};  // owned by one launch
  std::atomic<int> parked_{0};
  std::atomic<int> started_{0};
  const int cpus_;

  // Written by the launch that owns the pool while the gate is closed and no worker
  // is inside; read by workers that entered.
  alignas(64) KilnContext ctx_;
  Range range_;
  alignas(64) Share shares_[kMaxPoolThreads];
  Worker workers_[kMaxPoolThreads];
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_THREAD_POOL_H_
