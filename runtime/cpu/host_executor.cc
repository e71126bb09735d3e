#include "runtime/cpu/host_executor.h"

#include <algorithm>
#include <atomic>

#include "runtime/cpu/thread_pool.h"

namespace kiln {
namespace {

// The most parts of a loop. Each takes a bit on the caller's stack.
constexpr int64_t kMostParts = 4096;

// One loop on the application's threads, on the caller's stack. It is cut into parts of one chunk,
// or of several chunks if there are many.
class Loop {
 public:
  Loop(const KilnContext& ctx, const Executor::Range& range) : ctx_(ctx), range_(range) {
    const int64_t chunks = (range.end - range.begin + range.chunk - 1) / range.chunk;
    chunks_of_part_ = (chunks + kMostParts - 1) / kMostParts;
    parts_ = (chunks + chunks_of_part_ - 1) / chunks_of_part_;
  }

  int64_t parts() const { return parts_; }
  int64_t iterations() const { return iterations_.load(std::memory_order_acquire); }
  int64_t nanoseconds() const { return nanoseconds_.load(std::memory_order_relaxed); }

  // Runs those of the parts [begin, end) that no call has taken. `body` of parallel_for.
  static void RunParts(void* self, int64_t begin, int64_t end) {
    auto* loop = static_cast<Loop*>(self);
    Timed timed(loop);
    end = std::min(end, loop->parts_);
    for (int64_t part = std::max<int64_t>(begin, 0); part < end && !loop->HasFailed(); ++part) {
      timed.iterations += loop->RunPart(part);
    }
  }

  // The same where fewer threads than the application has are allowed: `parallel_for` counts
  // threads, each of which takes parts until none is left.
  static void RunThreads(void* self, int64_t begin, int64_t end) {
    if (begin < end) static_cast<Loop*>(self)->RunRest();
  }

  // Runs all parts that no call has taken.
  void RunRest() {
    Timed timed(this);
    while (!HasFailed() && next_.load(std::memory_order_relaxed) < parts_) {
      const int64_t part = next_.fetch_add(1, std::memory_order_relaxed);
      if (part < parts_) timed.iterations += RunPart(part);
    }
  }

 private:
  // Adds what one call ran to the sums at its end.
  struct Timed {
    explicit Timed(Loop* loop) : loop(loop) {}
    ~Timed() {
      if (iterations == 0) return;
      loop->nanoseconds_.fetch_add(NowNanoseconds() - start, std::memory_order_relaxed);
      loop->iterations_.fetch_add(iterations, std::memory_order_release);
    }
    Loop* const loop;
    const int64_t start = NowNanoseconds();
    int64_t iterations = 0;
  };

  bool HasFailed() const { return __atomic_load_n(ctx_.failed, __ATOMIC_RELAXED) != 0; }

  // Returns the number of iterations that it ran: none if another call has taken the part.
  int64_t RunPart(int64_t part) {
    const uint64_t bit = uint64_t{1} << (part % 64);
    if ((taken_[part / 64].fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return 0;
    const int64_t size = chunks_of_part_ * range_.chunk;
    const int64_t begin = range_.begin + part * size;
    const int64_t end = std::min(range_.end, begin + size);
    for (int64_t at = begin; at < end && !HasFailed(); at += range_.chunk) {
      range_.run(&ctx_, at, std::min(end, at + range_.chunk), 0);
    }
    return end - begin;
  }

  const KilnContext& ctx_;
  const Executor::Range& range_;
  int64_t parts_, chunks_of_part_;
  std::atomic<int64_t> next_{0};  // of RunRest
  std::atomic<int64_t> iterations_{0}, nanoseconds_{0};
  // An application that omits or repeats a range must not make results wrong.
  std::atomic<uint64_t> taken_[kMostParts / 64] = {};
};

}  // namespace

thread_local int HostExecutor::Pause::depth_ = 0;

int HostExecutor::concurrency() const {
  return std::clamp(threads_.concurrency(threads_.self), 1, kMaxPoolThreads);
}

bool HostExecutor::TryRun(const KilnContext& ctx, const Range& range, int64_t* iterations,
                          int64_t* nanoseconds) {
  if (Pause::depth_ > 0) return false;
  Loop loop(ctx, range);
  if (range.threads < concurrency()) {
    threads_.parallel_for(threads_.self, range.threads, &Loop::RunThreads, &loop);
  } else {
    threads_.parallel_for(threads_.self, loop.parts(), &Loop::RunParts, &loop);
  }
  if (loop.iterations() < range.end - range.begin) loop.RunRest();
  *iterations = loop.iterations();
  *nanoseconds = loop.nanoseconds();
  return true;
}

}  // namespace kiln
