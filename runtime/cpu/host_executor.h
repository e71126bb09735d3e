// The application's threads as an executor: its own pool, TBB, OpenMP and the like.
//
// Thread safety: as Executor. Several loops may run at once, and threads that wait in parallel_for
// may run other work of the application meanwhile, launches included.
#ifndef KILN_RUNTIME_CPU_HOST_EXECUTOR_H_
#define KILN_RUNTIME_CPU_HOST_EXECUTOR_H_

#include <cstdint>

#include "runtime/cpu/executor.h"

namespace kiln {

// What the application provides; `self` is passed to its functions. They are called from any
// thread, several at a time, and do not throw.
struct HostThreads {
  void* self;
  // The most threads worth using.
  int (*concurrency)(void* self);
  // Calls `body` for disjoint ranges that together are [0, count), from any threads, and returns
  // after all these calls. A range that it omits runs on the caller; one that it repeats runs once.
  void (*parallel_for)(void* self, int64_t count,
                       void (*body)(void* body_self, int64_t begin, int64_t end), void* body_self);
};

class HostExecutor final : public Executor {
 public:
  // Requires: `threads` has both functions, which may be called as long as the executor lives.
  explicit HostExecutor(const HostThreads& threads) : threads_(threads) {}

  // While one exists, TryRun returns false on the thread that made it: the thread holds a lock. One
  // that waits in parallel_for may run anything of the application, also what takes that lock.
  class Pause {
   public:
    Pause() { ++depth_; }
    ~Pause() { --depth_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    friend class HostExecutor;
    static thread_local int depth_;
  };

  // Reports the time and iterations of all threads.
  bool TryRun(const KilnContext& ctx, const Range& range, int64_t* iterations,
              int64_t* nanoseconds) override;
  // Unknown: only loops that are worth waking threads, or that follow one another, are shared.
  bool Awake(int) const override { return false; }
  int concurrency() const override;
  bool has_own_threads() const override { return false; }

 private:
  const HostThreads threads_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_HOST_EXECUTOR_H_
