// Loops of the runtime's own on an executor.
#ifndef KILN_RUNTIME_CPU_PARALLEL_FOR_H_
#define KILN_RUNTIME_CPU_PARALLEL_FOR_H_

#include <algorithm>
#include <cstdint>

#include "runtime/cpu/thread_pool.h"

namespace kiln {

// Calls body(i) for 0 <= i < count, each once, on up to `max_threads` threads of `executor` (null:
// the process's pool; 0: as many as that suggests), the caller among them. All on the caller while
// the executor has no threads for it. For bodies of some ten microseconds and more: threads may
// have to be woken.
template <typename Body>
void ParallelFor(Executor* executor, int64_t count, int max_threads, const Body& body) {
  const int threads =
      static_cast<int>(std::min<int64_t>(ThreadLimit(executor, max_threads), count));
  if (threads > 1) {
    volatile uint32_t failed = 0;
    KilnContext ctx = {};
    ctx.failed = &failed;
    ctx.launch = const_cast<Body*>(&body);
    KilnTask run = [](const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) (*static_cast<const Body*>(ctx->launch))(i);
    };
    int64_t iterations, nanoseconds;
    Executor& runs = executor != nullptr ? *executor : ThreadPool::Get();
    if (runs.TryRun(ctx, {run, 0, count, 1, threads}, &iterations, &nanoseconds)) return;
  }
  for (int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_PARALLEL_FOR_H_
