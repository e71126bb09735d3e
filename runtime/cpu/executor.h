// What runs the parallel loops of launches and trees: a pool of threads of ours (thread_pool.h), or
// the threads of the application (host_executor.h).
//
// Thread safety: all functions may be called from any thread, also from within a task.
#ifndef KILN_RUNTIME_CPU_EXECUTOR_H_
#define KILN_RUNTIME_CPU_EXECUTOR_H_

#include <cstdint>

#include "runtime/abi.h"

namespace kiln {

class Executor {
 public:
  struct Range {
    KilnTask run;
    int64_t begin, end;
    int64_t chunk;  // iterations taken at a time, >= 1
    int threads;    // at least 2, the caller included
    // The number of iterations that threads should not divide; `chunk` is a multiple of it. With 1,
    // threads may share a cache line.
    int64_t unit = 1;
  };

  virtual ~Executor() = default;

  // Runs `range` on up to range.threads threads and returns true after its end; false, without
  // having run any of it, if there are no threads for it now: the caller then runs the loop itself.
  // `*iterations` of the range took `*nanoseconds` of a thread's time: those that the caller ran,
  // or all. Ends early if `*ctx.failed` is set.
  virtual bool TryRun(const KilnContext& ctx, const Range& range, int64_t* iterations,
                      int64_t* nanoseconds) = 0;

  // Whether `threads` threads are known to be awake, so that even short loops are worth sharing.
  virtual bool Awake(int threads) const = 0;

  // The most threads worth using, at least 1. Cheap: each parallel task of a launch asks.
  virtual int concurrency() const = 0;

  // Whether its threads run nothing but our loops. If they do, a loop that they fail to speed up
  // shows that other programs need the cores. Of other threads it shows nothing.
  virtual bool has_own_threads() const = 0;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_EXECUTOR_H_
