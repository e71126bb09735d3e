// LoadedKernel::Launch: the tasks of one launch, in order.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "common/base/check.h"
#include "runtime/atomics_gate.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/loaded_kernel.h"
#include "runtime/random.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

// Shorter loops are not worth sharing even with threads that are awake.
constexpr int64_t kShareFrom = 4'000;
// Shorter loops are not worth waking a parked thread: that costs a system call, and the thread
// helps only after some fifty microseconds.
constexpr int64_t kWakeFrom = 80'000;
// If loops that are worth sharing follow one another this closely, wake the threads anyway.
constexpr int64_t kBurst = 100'000;
// Loops this long are shared even if other programs need the cores.
constexpr int64_t kShareAnyway = 2'000'000;
constexpr double kHandOver = 2'000;  // the fixed cost of sharing a loop, generously
constexpr int64_t kChunkNanoseconds = 2'000;
// Enough chunks for dynamic balance, but few enough that their fixed cost is negligible.
constexpr int64_t kChunksPerThread = 16;
// Threads share lists of at least this length by whole elements; in shorter lists, elements are
// divided.
constexpr int64_t kElementsForUnits = 64;
constexpr uint32_t kCostUnit = 64;
// Tasks with atomics: in the long run, the slower variant gets one part in this many of the time.
constexpr uint32_t kMaxPatience = 256;
// In loops that would take the slower variant at least kTryPartFrom, it gets one part in this many
// of the iterations.
constexpr int64_t kTriedPart = 8;
constexpr double kTryPartFrom = kTriedPart * 4.0 * kWakeFrom;
// Loops check after parts of at most about this length whether the launch has failed.
constexpr int64_t kPartNanoseconds = 20'000'000;
// Loops run in parts if they take at least kPartsFrom by the compiler's estimate, which may be far
// too low. The first part takes kFirstPart, or kFirstIterations if there is no estimate.
constexpr int64_t kPartsFrom = 500'000, kFirstPart = 20'000, kFirstIterations = 64;
constexpr uint32_t kMaxTemporariesOnStack = 1024;
// The number of pieces of a loop with partial results: at most kMostPieces, unless a piece would
// then have more than kMostOfPiece iterations.
constexpr int64_t kMostPieces = 512, kEnoughPieces = 64, kFewIterations = 8;
constexpr int64_t kMostOfPiece = 65'536, kMostPiecesEver = 65'536;
constexpr int64_t kPartialsOnStack = 4096;

// The pieces of the current loop, if it has partial results; each has `size` iterations.
struct Pieces {
  KilnTask run, alone;
  int64_t size;
};

// The state of one launch, on the launching thread's stack.
struct Launched {
  const LaunchHooks* hooks;
  volatile uint32_t failed = 0;  // unused if the hooks provide a flag
  std::mutex mutex;              // serialises calls of hooks
  Pieces pieces = {};
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
  if (__atomic_exchange_n(ctx->failed, 1u, __ATOMIC_RELAXED) != 0) return;
  if (launched->hooks != nullptr && launched->hooks->fail) {
    launched->hooks->fail(node, values, count);
  }
}

// Records a failure of the runtime. As with failed asserts, the first one counts.
void ReportError(const KilnContext* ctx, std::string_view text) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  std::lock_guard<std::mutex> lock(launched->mutex);
  if (__atomic_exchange_n(ctx->failed, 1u, __ATOMIC_RELAXED) != 0) return;
  if (launched->hooks != nullptr && launched->hooks->error) launched->hooks->error(text);
}

uint8_t* Activate(const KilnContext* ctx, KilnNode* node, uint8_t** slot) {
  std::string why;
  uint8_t* cell = Tree::Activate(node, slot, &why);
  if (cell != nullptr) return cell;
  ReportError(ctx, why);
  return node->dump;
}

uint8_t* ActivateChunk(const KilnContext* ctx, KilnNode* node, uint8_t* container, uint64_t chunk) {
  std::string why;
  uint8_t* made = Tree::ActivateChunk(node, container, chunk, &why);
  if (made != nullptr) return made;
  ReportError(ctx, why);
  return node->dump;
}

void Deactivate(const KilnContext*, KilnNode* node, uint8_t* container, uint64_t cell) {
  Tree::Deactivate(node, container, cell);
}

constexpr KilnRuntime kRuntime = {&Print, &Fail, &Activate, &ActivateChunk, &Deactivate};

// The memory for temporaries. Each thread keeps a large buffer; a nested launch (a hook that runs a
// kernel) finds the buffer in use and allocates its own.
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
    if (data == nullptr) std::abort();  // the kernel's own size determines it, at most 4 GiB
    return static_cast<uint8_t*>(data);
  }
  static thread_local Cached cached;
  uint8_t* data_;
  bool own_;
};
thread_local Temporaries::Cached Temporaries::cached;

// The time at which the calling thread last ran a loop that was worth sharing.
thread_local int64_t last_shareable = 0;

// Detects that available threads did not make a loop faster, because other programs need the cores.
// For a while, only long loops are then shared; the time grows with each retry that fails.
// Thread-safe: a race can only lose a hint.
class Contention {
 public:
  bool SeenBefore(int64_t now) const { return now < until_.load(std::memory_order_relaxed); }

  void Note(bool contended, int64_t now) {
    int64_t wait = wait_.load(std::memory_order_relaxed);
    if (contended) {
      until_.store(now + wait, std::memory_order_relaxed);
      wait_.store(std::min(2 * wait, kMaxWait), std::memory_order_relaxed);
    } else if (wait != kMinWait) {
      wait_.store(std::max(wait / 2, kMinWait), std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int64_t kMinWait = 5'000'000, kMaxWait = 160'000'000;
  std::atomic<int64_t> until_{0}, wait_{kMinWait};
};
Contention contention;

// Updates the estimated cost. It rises fast, but not in one step, because a preempted launch looks
// like a slow one; and it falls by halves.
uint32_t UpdatedCost(uint32_t old, bool rough, int64_t nanoseconds, int64_t iterations) {
  double cost = static_cast<double>(nanoseconds) * kCostUnit / static_cast<double>(iterations);
  auto now = static_cast<uint32_t>(std::clamp(cost, 1.0, 4e9));
  if (rough) return now;
  if (now >= old) return std::min<uint64_t>(now, uint64_t{old} * 4);
  return old - (old - now + 1) / 2;
}

bool WorthSharing(double estimate, bool awake) {
  if (estimate < kShareFrom) return false;
  const int64_t now = NowNanoseconds();
  if (estimate < kWakeFrom && !awake) {
    const bool burst = now - last_shareable < kBurst;
    last_shareable = now + static_cast<int64_t>(estimate);
    if (!burst) return false;
  }
  return estimate >= kShareAnyway || !contention.SeenBefore(now);
}

int64_t ChunkSize(int64_t count, int threads, uint32_t cost, int64_t unit) {
  const int64_t part = kPartNanoseconds * kCostUnit / std::max(cost, 1u);
  int64_t chunk = std::clamp<int64_t>(count / (threads * kChunksPerThread),
                                      part / (kPartNanoseconds / kChunkNanoseconds), part);
  chunk = std::max<int64_t>(chunk, 1);  // even if an iteration takes longer than a part
  if (unit > 1) return (chunk + unit - 1) / unit * unit;
  if (chunk >= 512) chunk = chunk / 64 * 64;  // whole cache lines, whatever the element's size
  return chunk;
}

// The size of a piece. It depends only on the number of iterations, the code and the layout of the
// data, so that each partial result always covers the same iterations.
int64_t PieceSize(int64_t iterations, int64_t grain, int64_t unit) {
  int64_t size = std::min(kMostOfPiece, (iterations + kMostPieces - 1) / kMostPieces);
  size = std::max({size, grain, (iterations + kMostPiecesEver - 1) / kMostPiecesEver});
  // If iterations may be long, take only a few per piece, as long as enough pieces remain to share.
  size = std::max(size, std::min(kFewIterations, iterations / kEnoughPieces));
  if (size >= 512) size = (size + 63) / 64 * 64;  // whole cache lines, whatever the element's size
  return (size + unit - 1) / unit * unit;
}

void RunByPiece(KilnTask run, const KilnContext* ctx, int64_t begin, int64_t end) {
  const int64_t size = static_cast<Launched*>(ctx->launch)->pieces.size;
  for (int64_t at = begin; at < end && *ctx->failed == 0; at += size) {
    run(ctx, at, std::min(end, at + size), static_cast<int32_t>(at / size));
  }
}

}  // namespace

void LoadedKernel::RunPiece(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  RunByPiece(static_cast<Launched*>(ctx->launch)->pieces.run, ctx, begin, end);
}

void LoadedKernel::RunPieceAlone(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  KilnContext own = *ctx;
  own.alone = 1;
  RunByPiece(static_cast<Launched*>(ctx->launch)->pieces.alone, &own, begin, end);
}

double LoadedKernel::Cost::Estimate(int64_t iterations) const {
  return static_cast<double>(iterations) * value.load(std::memory_order_relaxed) / kCostUnit;
}

void LoadedKernel::Cost::Measure(int64_t nanoseconds, int64_t iterations) {
  if (iterations <= 0) return;
  const uint32_t old = value.load(std::memory_order_relaxed);
  const bool was_rough = rough.load(std::memory_order_relaxed);
  const uint32_t updated = UpdatedCost(old, was_rough, nanoseconds, iterations);
  // Most launches change nothing. Not storing keeps the cache line shared between threads.
  if (updated != old) value.store(updated, std::memory_order_relaxed);
  if (was_rough) rough.store(false, std::memory_order_relaxed);
  if (!measured.load(std::memory_order_relaxed)) measured.store(true, std::memory_order_relaxed);
}

int64_t LoadedKernel::Cost::Try(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end,
                                int64_t unit) {
  const int64_t units = std::max<int64_t>(1, (end - begin) / 64 / unit);
  const int64_t some = std::min(end, begin + units * unit);
  const int64_t start = NowNanoseconds();
  RunParts(run, ctx, begin, some, unit);
  const int64_t took = NowNanoseconds() - start;
  if (*ctx.failed != 0) return some;
  // For small pieces, the first accesses to code and memory distort the measurement.
  if (took > kChunkNanoseconds || value.load(std::memory_order_relaxed) == 0) {
    Measure(took, some - begin);
    // The first iterations may also differ from the others, which reuse what the first ones
    // allocate.
    rough.store(true, std::memory_order_relaxed);
  }
  return some;
}

void LoadedKernel::Cost::RunMeasured(KilnTask run, const KilnContext& ctx, int64_t begin,
                                     int64_t end, int64_t unit) {
  const int64_t start = NowNanoseconds();
  RunParts(run, ctx, begin, end, unit);
  if (*ctx.failed == 0) Measure(NowNanoseconds() - start, end - begin);
}

void LoadedKernel::Cost::RunParts(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end,
                                  int64_t unit) const {
  const uint32_t each = value.load(std::memory_order_relaxed);
  if (each != 0 && static_cast<double>(end - begin) * each <= kPartsFrom * kCostUnit) {
    return run(&ctx, begin, end, 0);
  }
  const bool known = measured.load(std::memory_order_relaxed);
  const int64_t first = (known ? kPartNanoseconds : kFirstPart) * kCostUnit;
  int64_t units = std::max<int64_t>(1, (each == 0 ? kFirstIterations : first / each) / unit);
  while (begin < end && *ctx.failed == 0) {
    const int64_t to = end - begin <= units * unit ? end : begin + units * unit;
    const int64_t start = NowNanoseconds();
    run(&ctx, begin, to, 0);
    const int64_t took = NowNanoseconds() - start;
    if (took < kPartNanoseconds / 2 && to < end) units *= 2;
    if (took > 2 * kPartNanoseconds)
      units = std::max<int64_t>(1, units / (took / kPartNanoseconds));
    begin = to;
  }
}

bool LoadedKernel::Choice::TimeForOther(double chosen, double trying) {
  const double now = spent.load(std::memory_order_relaxed) + chosen;
  const uint32_t wait = patience.load(std::memory_order_relaxed);
  const bool time = now >= wait * trying;
  spent.store(time ? 0 : now, std::memory_order_relaxed);
  if (time) patience.store(std::min(2 * wait, kMaxPatience), std::memory_order_relaxed);
  return time;
}

bool LoadedKernel::BoundTask::Share(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                                    int64_t unit) const {
  const uint32_t unit_cost = cost.value.load(std::memory_order_relaxed);
  const double estimate = cost.Estimate(end - begin);
  if (threads <= 1 || estimate < kShareFrom) return false;
  ThreadPool& pool = ThreadPool::Get();
  const bool awake = pool.Awake(threads);
  if (!WorthSharing(estimate, awake)) return false;
  const int64_t count = end - begin;
  const int64_t start = NowNanoseconds();
  ThreadPool::Range range{run,     begin, end, ChunkSize(count, threads, unit_cost, unit),
                          threads, unit};
  int64_t iterations = 0, nanoseconds = 0;
  if (!pool.TryRun(ctx, range, &iterations, &nanoseconds)) return false;
  if (*ctx.failed == 0) cost.Measure(nanoseconds, iterations);
  // Threads that first had to wake up may be late even without contention.
  if (iterations > 0 && (awake || estimate > kWakeFrom * 4)) {
    const int64_t now = NowNanoseconds();
    const double alone = static_cast<double>(nanoseconds) * static_cast<double>(count) /
                         static_cast<double>(iterations);
    contention.Note(static_cast<double>(now - start) > 0.9 * alone + kHandOver, now);
  }
  return true;
}

void LoadedKernel::BoundTask::RunRange(const KilnContext& ctx, int64_t begin, int64_t end,
                                       int limit, int64_t unit) const {
  if (begin >= end) return;
  if (finish != nullptr) return RunPieces(ctx, end, limit, unit);
  Run(ctx, begin, end, limit, unit);
}

// Loops with partial results begin at 0.
void LoadedKernel::BoundTask::RunPieces(const KilnContext& ctx, int64_t end, int limit,
                                        int64_t unit) const {
  Pieces& pieces = static_cast<Launched*>(ctx.launch)->pieces;
  pieces = {piece, piece_alone, PieceSize(end, grain, unit)};
  const int64_t count = (end + pieces.size - 1) / pieces.size;
  const int64_t bytes = count * partial_bytes;
  alignas(64) uint8_t buffer[kPartialsOnStack];
  std::unique_ptr<uint64_t[]> allocated;
  KilnContext with_partials = ctx;
  with_partials.partials = buffer;
  if (bytes > kPartialsOnStack) {
    allocated.reset(new uint64_t[bytes / 8 + 1]);
    with_partials.partials = reinterpret_cast<uint8_t*>(allocated.get());
  }
  Run(with_partials, 0, end, limit, pieces.size);
  if (*ctx.failed == 0) finish(&with_partials, 0, count, 0);
}

void LoadedKernel::BoundTask::Run(const KilnContext& ctx, int64_t begin, int64_t end, int limit,
                                  int64_t unit) const {
  int threads = limit > 0 ? std::min(limit, kMaxPoolThreads) : DefaultThreads();
  if (max_threads > 0) threads = std::min(threads, max_threads);
  threads = static_cast<int>(std::min<int64_t>(threads, (end - begin + unit - 1) / unit));
  if (alone != nullptr) return RunAtomics(ctx, begin, end, threads, unit);
  if (threads == 1) return cost.RunParts(run, ctx, begin, end, unit);
  RunShared(ctx, begin, end, threads, unit);
}

void LoadedKernel::BoundTask::RunShared(const KilnContext& ctx, int64_t begin, int64_t end,
                                        int threads, int64_t unit) const {
  if (!cost.measured.load(std::memory_order_relaxed)) {
    // The first launch measures a few iterations before it decides.
    begin = cost.Try(run, ctx, begin, end, unit);
    if (begin == end || *ctx.failed != 0) return;
    threads = static_cast<int>(std::min<int64_t>(threads, end - begin));
  }
  if (!Share(ctx, begin, end, threads, unit)) cost.RunMeasured(run, ctx, begin, end, unit);
}

bool LoadedKernel::BoundTask::RunAlone(const KilnContext& ctx, int64_t begin, int64_t end,
                                       int threads, int64_t unit) const {
  if (!AtomicsGate::TryEnterAlone()) return false;
  const bool known = cost.measured.load(std::memory_order_relaxed) &&
                     alone_cost.measured.load(std::memory_order_relaxed);
  if (!known && threads > 1) {
    begin = alone_cost.Try(alone, ctx, begin, end, unit);
    if (begin < end && *ctx.failed == 0) begin = cost.Try(run, ctx, begin, end, unit);
  }
  if (begin < end && *ctx.failed == 0) alone_cost.RunMeasured(alone, ctx, begin, end, unit);
  AtomicsGate::LeaveAlone();
  return true;
}

void LoadedKernel::BoundTask::RunEither(bool by_one, const KilnContext& ctx, int64_t begin,
                                        int64_t end, int threads, int64_t unit) const {
  if (by_one && RunAlone(ctx, begin, end, threads, unit)) return;
  AtomicsGate::Enter();
  if (threads == 1) {
    cost.RunParts(run, ctx, begin, end, unit);
  } else {
    const int64_t start = NowNanoseconds();
    RunShared(ctx, begin, end, threads, unit);
    if (*ctx.failed == 0) together_cost.Measure(NowNanoseconds() - start, end - begin);
  }
  AtomicsGate::Leave();
}

void LoadedKernel::BoundTask::RunAtomics(const KilnContext& ctx, int64_t begin, int64_t end,
                                         int threads, int64_t unit) const {
  // Until both variants are measured, run alone: that measures it, and suits small loops.
  if (threads == 1 || !cost.measured.load(std::memory_order_relaxed) ||
      !alone_cost.measured.load(std::memory_order_relaxed)) {
    return RunEither(/*by_one=*/true, ctx, begin, end, threads, unit);
  }
  const double by_one = alone_cost.Estimate(end - begin);
  const double shared = together_cost.measured.load(std::memory_order_relaxed)
                            ? together_cost.Estimate(end - begin)
                            : cost.Estimate(end - begin) / threads + kHandOver;
  const bool better_alone = by_one <= shared;
  const double other = std::max(by_one, shared);
  // In long loops, measure only the last iterations, which reuse what the first ones allocated.
  const bool part = other >= kTryPartFrom;
  if (!choice.TimeForOther(std::min(by_one, shared), part ? other / kTriedPart : other)) {
    return RunEither(better_alone, ctx, begin, end, threads, unit);
  }
  const int64_t first = part ? (end - begin) / kTriedPart * (kTriedPart - 1) / unit * unit : 0;
  if (first > 0) RunEither(better_alone, ctx, begin, begin + first, threads, unit);
  if (*ctx.failed != 0) return;
  Cost& tried = better_alone ? together_cost : alone_cost;
  tried.rough.store(true, std::memory_order_relaxed);
  RunEither(!better_alone, ctx, begin + first, end, threads, unit);
  if (first > 0) tried.rough.store(true, std::memory_order_relaxed);
}

void LoadedKernel::RunOnTree(const BoundTask& task, KilnContext* ctx, int max_threads,
                             std::shared_ptr<const ElementList>* list) {
  if (task.kind == TaskKind::kStruct) {
    if (*list == nullptr) return;
    ctx->elements = (*list)->data();
    const int64_t elements = (*list)->size();
    // Take whole elements, so that a task prepares each element only once.
    const int64_t unit = elements >= kElementsForUnits ? task.iterations : 1;
    return task.RunRange(*ctx, 0, elements * task.iterations, max_threads, unit);
  }
  KilnNode* node = reinterpret_cast<KilnNode* const*>(ctx->arguments[task.tree_slot])[task.node];
  KILN_CHECK(node != nullptr) << "a list of SNode " << task.node << " of the kernel's tree";
  int number;
  Tree& tree = Tree::Of(node, &number);
  if (task.kind == TaskKind::kGc) return tree.Collect(number, max_threads);
  *list = tree.List(number, task.slices, max_threads);
  if (*list == nullptr)
    ReportError(ctx, "out of memory: no room for the list of a struct-for's cells");
}

bool LoadedKernel::Launch(const uint64_t* arguments, uint64_t* results, const LaunchHooks* hooks,
                          int max_threads) const {
  Launched launched{hooks};
  volatile uint32_t* const failed =
      hooks != nullptr && hooks->failed != nullptr ? hooks->failed : &launched.failed;
  KilnContext ctx = {arguments, results,  nullptr, &kRuntime, info_.draws ? NextLaunchRandom() : 0,
                     failed,    &launched};
  std::shared_ptr<const ElementList> list;
  auto run = [&] {
    for (const BoundTask& task : tasks_) {
      if (task.serial) {
        task.run(&ctx, task.begin, task.end, 0);
      } else if (task.tree_slot >= 0) {
        RunOnTree(task, &ctx, max_threads, &list);
      } else {
        int64_t bounds[2] = {task.begin, task.end};
        if (task.bounds != nullptr) task.bounds(&ctx, bounds);
        task.RunRange(ctx, bounds[0], bounds[1], max_threads, /*unit=*/1);
      }
      if (*failed != 0) return false;
    }
    return true;
  };
  if (info_.temporary_bytes == 0) return run();
  if (info_.temporary_bytes <= kMaxTemporariesOnStack) {
    alignas(64) uint8_t buffer[kMaxTemporariesOnStack];
    std::memset(buffer, 0, info_.temporary_bytes);
    ctx.temporaries = buffer;
    return run();
  }
  Temporaries temporaries(info_.temporary_bytes);
  ctx.temporaries = temporaries.data();
  return run();
}

}  // namespace kiln
