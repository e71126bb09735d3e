// LoadedKernel::Launch: the tasks of one launch, in order.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/cpu/thread_pool.h"
#include "runtime/loaded_kernel.h"
#include "runtime/random.h"

namespace kiln {
namespace {

// Below this a loop is not worth handing even to threads that are awake.
constexpr int64_t kShareFrom = 4'000;
// Waking a parked thread costs the caller a system call and comes to help only
// after some fifty microseconds.
constexpr int64_t kWakeFrom = 80'000;
// Loops that are worth sharing follow one another this closely: wake the threads.
constexpr int64_t kBurst = 100'000;
constexpr int64_t kChunkNanoseconds = 2'000;
// Enough for dynamic balance, few enough that a chunk's fixed cost is nothing.
constexpr int64_t kChunksPerThread = 16;
constexpr uint32_t kCostUnit = 64;
constexpr uint32_t kMaxTemporariesOnStack = 1024;

// Lives on the launching thread's stack.
struct Launched {
  const LaunchHooks* hooks;
  volatile uint32_t failed = 0;
  std::mutex mutex;  // one hook call at a time
};

void Print(const KilnContext* ctx, uint32_t node, uint32_t count, const uint64_t* values) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  if (launched->hooks == nullptr || !launched->hooks->print) return;
  std::lock_guard<std::mutex> lock(launched->mutex);
  launched->hooks->print(node, values, count);
}

void Fail(const KilnContext* ctx, uint32_t node, uint32_t count, const uint64_t* values) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  std::lock_guard<std::mutex> lock(launched->mutex);
  if (__atomic_exchange_n(&launched->failed, 1u, __ATOMIC_RELAXED) != 0) return;
  if (launched->hooks != nullptr && launched->hooks->fail) {
    launched->hooks->fail(node, values, count);
  }
}

constexpr KilnRuntime kRuntime = {&Print, &Fail};

// Large temporaries are kept per thread; a launch inside a launch (a hook that
// runs a kernel) finds the buffer taken and gets one of its own.
class Temporaries {
 public:
  explicit Temporaries(uint32_t bytes) {
    if (bytes > cached.size && !cached.taken) {
      std::free(cached.data);
      cached.data = New(bytes);
      cached.size = bytes;
    }
    own_ = cached.taken;
    data_ = own_ ? New(bytes) : cached.data;
    if (!own_) cached.taken = true;
    std::memset(data_, 0, bytes);
  }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  ~Temporaries() {
    if (own_) {
      std::free(data_);
    } else {
      cached.taken = false;
    }
  }
  uint8_t* data() const { return data_; }

 private:
  struct Cached {
    ~Cached() { std::free(data); }
    uint8_t* data = nullptr;
    uint32_t size = 0;
    bool taken = false;
  };
  static uint8_t* New(uint32_t bytes) {
    void* data = std::aligned_alloc(64, (size_t{bytes} + 63) / 64 * 64);
    if (data == nullptr) std::abort();  // 4 GiB at most, asked for by the kernel's own size
    return static_cast<uint8_t*>(data);
  }
  static thread_local Cached cached;
  uint8_t* data_;
  bool own_;
};
thread_local Temporaries::Cached Temporaries::cached;

// When a loop that was worth sharing last ran, by the calling thread.
thread_local int64_t last_shareable = 0;

// Costs rise at once and fall slowly: a loop run alone once too often costs more
// than one shared once too often.
uint32_t UpdatedCost(uint32_t old, bool measured, int64_t nanoseconds, int64_t iterations) {
  double cost = static_cast<double>(nanoseconds) * kCostUnit / static_cast<double>(iterations);
  uint32_t now = static_cast<uint32_t>(std::clamp(cost, 1.0, 4e9));
  if (!measured || now >= old) return now;
  return old - (old - now + 3) / 4;
}

}  // namespace

void LoadedKernel::RunRange(const BoundTask& task, const KilnContext& ctx, int64_t begin,
                            int64_t end, int max_threads) {
  if (begin >= end) return;
  int threads = max_threads > 0 ? std::min(max_threads, kMaxPoolThreads) : DefaultThreads();
  if (task.max_threads > 0) threads = std::min(threads, task.max_threads);
  if (end - begin < threads) threads = static_cast<int>(end - begin);
  if (threads == 1) return task.run(&ctx, begin, end, 0);

  bool measured = task.measured.load(std::memory_order_relaxed);
  uint32_t cost = task.cost.load(std::memory_order_relaxed);
  auto measure = [&](int64_t nanoseconds, int64_t iterations) {
    uint32_t updated = UpdatedCost(cost, measured, nanoseconds, iterations);
    if (updated != cost) task.cost.store(updated, std::memory_order_relaxed);
    if (!measured) task.measured.store(true, std::memory_order_relaxed);
    cost = updated;
    measured = true;
  };
  if (!measured) {
    // The first launch tries a few iterations before it decides.
    int64_t some = begin + std::max<int64_t>(1, (end - begin) / 64);
    int64_t start = NowNanoseconds();
    task.run(&ctx, begin, some, 0);
    int64_t took = NowNanoseconds() - start;
    // The first touch of code and memory says little of small pieces.
    if (took > kChunkNanoseconds || cost == 0) measure(took, some - begin);
    begin = some;
    if (begin == end || *ctx.failed != 0) return;
    if (end - begin < threads) threads = static_cast<int>(end - begin);
  }
  const double estimate = static_cast<double>(end - begin) * cost / kCostUnit;
  if (threads > 1 && estimate >= kShareFrom) {
    ThreadPool& pool = ThreadPool::Get();
    bool share = estimate >= kWakeFrom || pool.Awake(threads);
    if (!share) {
      int64_t now = NowNanoseconds();
      share = now - last_shareable < kBurst;
      last_shareable = now + static_cast<int64_t>(estimate);
    }
    if (share) {
      const int64_t count = end - begin;
      int64_t chunk = std::max<int64_t>(count / (threads * kChunksPerThread),
                                        kChunkNanoseconds * kCostUnit / std::max(cost, 1u));
      if (chunk >= 512) chunk = chunk / 64 * 64;
      ThreadPool::Range range{task.run, begin, end, std::max<int64_t>(chunk, 1), threads};
      int64_t iterations = 0, nanoseconds = 0;
      if (pool.TryRun(ctx, range, &iterations, &nanoseconds)) {
        if (iterations > 0) measure(nanoseconds, iterations);
        return;
      }
    }
  }
  int64_t start = NowNanoseconds();
  task.run(&ctx, begin, end, 0);
  measure(NowNanoseconds() - start, end - begin);
}

bool LoadedKernel::Launch(const uint64_t* arguments, uint64_t* results, const LaunchHooks* hooks,
                          int max_threads) const {
  Launched launched{hooks};
  KilnContext ctx = {arguments,           results,          nullptr,  &kRuntime,
                     CallerRandomState(), &launched.failed, &launched};
  auto run = [&] {
    for (const BoundTask& task : tasks_) {
      if (task.serial) {
        task.run(&ctx, task.begin, task.end, 0);
      } else {
        int64_t bounds[2] = {task.begin, task.end};
        if (task.bounds != nullptr) task.bounds(&ctx, bounds);
        RunRange(task, ctx, bounds[0], bounds[1], max_threads);
      }
      if (launched.failed != 0) return false;
    }
    return true;
  };
  if (temporary_bytes_ == 0) return run();
  if (temporary_bytes_ <= kMaxTemporariesOnStack) {
    alignas(64) uint8_t buffer[kMaxTemporariesOnStack];
    std::memset(buffer, 0, temporary_bytes_);
    ctx.temporaries = buffer;
    return run();
  }
  Temporaries temporaries(temporary_bytes_);
  ctx.temporaries = temporaries.data();
  return run();
}

}  // namespace kiln
