// LoadedKernel::Launch: the tasks of one launch, in order.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>

#include "common/base/check.h"
#include "common/base/first_use.h"
#include "runtime/atomics_gate.h"
#include "runtime/cpu/cache_size.h"
#include "runtime/cpu/host_executor.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/failed.h"
#include "runtime/grain.h"
#include "runtime/loaded_kernel.h"
#include "runtime/private_copies.h"
#include "runtime/random.h"
#include "runtime/thread_tape.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

// Threads share lists of at least this length by whole elements; in shorter lists, elements are
// divided.
constexpr int64_t kElementsForUnits = 64;
// In loops that would take the slower variant at least kTryPartFrom, it gets one part in this many
// of the iterations.
constexpr int64_t kTriedPart = 8;
constexpr double kTryPartFrom = kTriedPart * 4.0 * kWakeFrom;
// Smaller amounts are on the launching thread's stack: an allocation costs as much as a small
// launch.
constexpr uint32_t kMaxTemporariesOnStack = 1024;
constexpr int64_t kPartialsOnStack = 4096;
// The most bytes of a thread's private copies, and of all threads'.
constexpr uint64_t kMostOfCopy = uint64_t{4} << 20, kMostOfCopies = uint64_t{64} << 20;

// The pieces of the current loop, if it has partial results; each has `size` iterations.
struct Pieces {
  KilnTask run, alone;
  int64_t size;
};

// The state of one launch, on the launching thread's stack.
struct Launched {
  const LaunchHooks* hooks;
  Executor* executor;  // null: the process's pool
  // Not atomic but volatile: generated code and signal handlers read and write it, too.
  volatile uint32_t failed = 0;  // unused if the hooks provide a flag
  std::mutex mutex;              // serialises calls of hooks
  Pieces pieces = {};
  PrivateCopies* copies = nullptr;  // the current loop's, if it has some
  KilnTask on_copy = nullptr;       // its code
  std::atomic<uint64_t> tape_number = 0;
};

// Held while a hook runs. A launch that the hook makes must not wait for the application's threads:
// one of them may be about to call a hook of this launch.
struct HookLock {
  explicit HookLock(Launched* launched) : lock(launched->mutex) {}
  const std::lock_guard<std::mutex> lock;
  const HostExecutor::Pause pause;
};

void Print(const KilnContext* ctx, uint32_t node, uint32_t count, const uint64_t* values) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  if (launched->hooks == nullptr || !launched->hooks->print) return;
  const HookLock lock(launched);
  launched->hooks->print(node, values, count);
}

// Several threads may fail at once. The exchange chooses the one whose failure the user sees, and
// the lock makes the hook finish before a later print begins.
void Fail(const KilnContext* ctx, uint32_t node, uint32_t count, const uint64_t* values) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  const HookLock lock(launched);
  if (__atomic_exchange_n(ctx->failed, 1u, __ATOMIC_RELAXED) != 0) return;
  if (launched->hooks != nullptr && launched->hooks->fail) {
    launched->hooks->fail(node, values, count);
  }
}

// Records a failure of the runtime. As with failed asserts, the first one counts.
void ReportError(const KilnContext* ctx, std::string_view text) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  const HookLock lock(launched);
  if (__atomic_exchange_n(ctx->failed, 1u, __ATOMIC_RELAXED) != 0) return;
  if (launched->hooks != nullptr && launched->hooks->error) launched->hooks->error(text);
}

// Both activations return the dump cell on failure: the kernel goes on writing until it sees the
// flag, and no read ever sees the dump.
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

// The launch's number for tapes, which most launches do not need.
uint64_t TapeNumber(const KilnContext* ctx) {
  std::atomic<uint64_t>& number = static_cast<Launched*>(ctx->launch)->tape_number;
  uint64_t known = number.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const uint64_t made = ThreadTape::NextLaunch();
  return number.compare_exchange_strong(known, made, std::memory_order_relaxed) ? made : known;
}

uint8_t* TapePush(const KilnContext* ctx, uint64_t bytes) {
  return ThreadTape::OfThread().Push(TapeNumber(ctx), bytes);
}

uint8_t* TapeTop(const KilnContext*, uint64_t bytes) { return ThreadTape::OfThread().Top(bytes); }

void TapePop(const KilnContext*, uint64_t bytes) { ThreadTape::OfThread().Pop(bytes); }

// Half as much again as the cache holds: of what ordinary stores would leave there, a loop that
// reads it next, from its beginning, would find little.
uint64_t StreamFrom() {
  constexpr uint64_t kUsualCache = uint64_t{32} << 20;
  const uint64_t cache = LargestCacheBytes();
  return (cache == 0 ? kUsualCache : cache) / 2 * 3;
}

const KilnRuntime& Runtime() {
  static FirstUse<const KilnRuntime> table;
  return table.Get([] {
    return KilnRuntime{&Print,    &Fail,    &Activate, &ActivateChunk, &Deactivate,
                       &TapePush, &TapeTop, &TapePop,  StreamFrom()};
  });
}

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
    // Only the first launch of a thread that nests uses the buffer. The ones within hooks run while
    // the outer launch's temporaries are still in use.
    own_ = cached.taken;
    data_ = own_ ? New(bytes) : cached.data;
    if (!own_) cached.taken = true;
    // The compiler drops a first store of zero to a temporary (passes/offload.cc).
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

int64_t Kibibytes(uint64_t bytes) { return static_cast<int64_t>(bytes / 1024 + 1); }

// Pieces are numbered by their begin, so `begin` must be the first iteration of a piece. RunPieces
// passes the size of a piece as the unit, which no thread divides.
void RunByPiece(KilnTask run, const KilnContext* ctx, int64_t begin, int64_t end) {
  const int64_t size = static_cast<Launched*>(ctx->launch)->pieces.size;
  for (int64_t at = begin; at < end && !HasFailed(*ctx); at += size) {
    run(ctx, at, std::min(end, at + size), static_cast<int32_t>(at / size));
  }
}

}  // namespace

// The code of a piece travels in Launched, not in the context: a KilnTask has no room for it, and
// the layout of KilnContext is part of the ABI.
void LoadedKernel::RunPiece(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  RunByPiece(static_cast<Launched*>(ctx->launch)->pieces.run, ctx, begin, end);
}

void LoadedKernel::RunPieceAlone(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  KilnContext own = *ctx;
  // The pool's threads share `ctx`. The copy belongs to the one thread that is alone.
  own.alone = 1;
  RunByPiece(static_cast<Launched*>(ctx->launch)->pieces.alone, &own, begin, end);
}

void LoadedKernel::RunOnCopy(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  auto* launched = static_cast<Launched*>(ctx->launch);
  PrivateCopies::Copy& copy = launched->copies->Take();
  launched->on_copy(&copy.context, begin, end, 0);
  PrivateCopies::GiveBack(copy);
}

bool LoadedKernel::BoundTask::Share(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                                    int64_t unit) const {
  const double estimate = cost.Estimate(end - begin);
  if (estimate < kShareFrom) return false;  // a program of short loops makes no pool
  Executor* const given = static_cast<Launched*>(ctx.launch)->executor;
  Executor& executor = given != nullptr ? *given : ThreadPool::Get();
  const Sharing sharing = ThreadsFor(estimate, threads, executor);
  if (sharing.threads < 2) return false;
  threads = sharing.threads;
  const int64_t count = end - begin;
  const int64_t start = NowNanoseconds();
  const Executor::Range range{run, begin, end, cost.ChunkSize(count, threads, unit), threads, unit};
  int64_t iterations = 0, nanoseconds = 0;
  if (!executor.TryRun(ctx, range, &iterations, &nanoseconds)) return false;
  // Only the time in iterations counts. The time until the end would include waiting, and a failed
  // launch ended early.
  if (!HasFailed(ctx)) cost.Measure(nanoseconds, iterations);
  if (executor.has_own_threads()) {
    NoteContention({start, NowNanoseconds(), count, iterations, nanoseconds, sharing.awake});
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
  // Not cleared: each piece that ran has stored its results, and finish runs only if all of them
  // did.
  alignas(64) uint8_t buffer[kPartialsOnStack];
  std::unique_ptr<uint64_t[]> allocated;
  KilnContext with_partials = ctx;
  with_partials.partials = buffer;
  if (bytes > kPartialsOnStack) {
    allocated.reset(new uint64_t[bytes / 8 + 1]);
    with_partials.partials = reinterpret_cast<uint8_t*>(allocated.get());
  }
  Run(with_partials, 0, end, limit, pieces.size);
  if (!HasFailed(ctx)) finish(&with_partials, 0, count, 0);
}

void LoadedKernel::BoundTask::Run(const KilnContext& ctx, int64_t begin, int64_t end, int limit,
                                  int64_t unit) const {
  // Before everything that is to be decided, which takes longer than such a loop.
  if (alone == nullptr && cost.RunShort(run, ctx, begin, end)) return;
  // The least of three limits: the launch's (or the executor's), the task's own, and the number of
  // units.
  int threads = ThreadLimit(static_cast<Launched*>(ctx.launch)->executor, limit);
  if (max_threads > 0) threads = std::min(threads, max_threads);
  threads = static_cast<int>(std::min<int64_t>(threads, (end - begin + unit - 1) / unit));
  if (alone != nullptr) return RunAtomics(ctx, begin, end, threads, unit);
  // Nothing to decide, so nothing to measure: a launch on one thread reads no clock if it is short.
  if (threads == 1) return cost.RunParts(run, ctx, begin, end, unit);
  RunShared(ctx, begin, end, threads, unit);
}

void LoadedKernel::BoundTask::RunShared(const KilnContext& ctx, int64_t begin, int64_t end,
                                        int threads, int64_t unit) const {
  if (!cost.measured()) {
    // The first launch measures a few iterations before it decides.
    begin = cost.Try(run, ctx, begin, end, unit);
    if (begin == end || HasFailed(ctx)) return;
    threads = static_cast<int>(std::min<int64_t>(threads, end - begin));
  }
  if (!Share(ctx, begin, end, threads, unit)) cost.RunMeasured(run, ctx, begin, end, unit);
}

// Within the gate, so that the variant without atomics meets no other.
int64_t LoadedKernel::BoundTask::TryVariants(const KilnContext& ctx, int64_t begin, int64_t end,
                                             int64_t unit) const {
  if (!AtomicsGate::TryEnterAlone()) return begin;
  begin = alone_cost.Try(alone, ctx, begin, end, unit);
  if (begin < end && !HasFailed(ctx)) begin = cost.Try(run, ctx, begin, end, unit);
  AtomicsGate::LeaveAlone();
  return begin;
}

bool LoadedKernel::BoundTask::RunAlone(const KilnContext& ctx, int64_t begin, int64_t end,
                                       int64_t unit) const {
  // Never waits: with another launch inside, the variant with atomics is correct at once.
  if (!AtomicsGate::TryEnterAlone()) return false;
  alone_cost.RunMeasured(alone, ctx, begin, end, unit);
  AtomicsGate::LeaveAlone();
  return true;
}

double LoadedKernel::BoundTask::EstimatePrivate(const KilnContext& ctx, int64_t iterations,
                                                int threads) const {
  const uint64_t bytes = BytesOf(scatters, ctx.arguments);
  if (bytes > kMostOfCopy || bytes * threads > kMostOfCopies) {
    return std::numeric_limits<double>::infinity();
  }
  // As with shared loops, expect the best before the first run.
  const double loop = private_cost.measured()
                          ? private_cost.Estimate(iterations)
                          : alone_cost.Estimate(iterations) / threads + kHandOver;
  return loop + merge_cost.Estimate(Kibibytes(bytes));
}

bool LoadedKernel::BoundTask::PrefersCopies(const KilnContext& ctx, int64_t iterations, int threads,
                                            double other) const {
  // For short loops the atomics are cheap enough.
  if (scatters.empty() || other < kShareFrom) return false;
  const double with_copies = EstimatePrivate(ctx, iterations, threads);
  if (std::isinf(with_copies)) return false;
  const bool better = with_copies < other;
  if (!private_choice.TimeForOther(std::min(with_copies, other), std::max(with_copies, other))) {
    return better;
  }
  // What is measured next replaces what was.
  if (!better) private_cost.Distrust();
  return !better;
}

bool LoadedKernel::BoundTask::RunOnCopies(const KilnContext& ctx, int64_t begin, int64_t end,
                                          int threads, int64_t unit, bool fresh,
                                          PrivateCopies* copies) const {
  auto* const launched = static_cast<Launched*>(ctx.launch);
  Executor& executor = launched->executor != nullptr ? *launched->executor : ThreadPool::Get();
  copies->Start(ctx);
  launched->copies = copies;
  launched->on_copy = alone;
  const int64_t start = NowNanoseconds();
  int64_t iterations = 0, nanoseconds = 0;
  const int64_t chunk = alone_cost.ChunkSize(end - begin, threads, unit);
  const Executor::Range range{&RunOnCopy, begin, end, chunk, threads, unit};
  if (!executor.TryRun(ctx, range, &iterations, &nanoseconds)) return false;
  const int64_t looped = NowNanoseconds();
  copies->Merge(launched->executor, threads);
  // The first use of memory takes long, and is no measure of the next.
  if (fresh || HasFailed(ctx)) return true;
  private_cost.MeasureUnlessOnce(looped - start, end - begin);
  merge_cost.Measure(NowNanoseconds() - looped, Kibibytes(BytesOf(scatters, ctx.arguments)));
  return true;
}

// Within the gate: adding the copies up is no atomic. A task with copies has no hooks, so none of
// its threads launches another kernel, which would wait for the gate.
bool LoadedKernel::BoundTask::RunPrivately(const KilnContext& ctx, int64_t begin, int64_t end,
                                           int threads, int64_t unit) const {
  Executor* const given = static_cast<Launched*>(ctx.launch)->executor;
  const Executor& executor = given != nullptr ? *given : ThreadPool::Get();
  // Threads of the application may run other work while they wait, and wait for it.
  if (!executor.has_own_threads()) return false;
  const double estimate = alone_cost.Estimate(end - begin);
  // The copies are of all threads: with fewer, the next launch would have to make others.
  if (ThreadsFor(estimate, threads, executor).threads < 2) return false;
  if (!AtomicsGate::TryEnterAlone()) return false;
  std::unique_ptr<PrivateCopies> copies = spare.Take();
  const bool fresh = copies == nullptr || !copies->Suit(ctx.arguments, threads);
  if (fresh) copies = PrivateCopies::Make(scatters, ctx.arguments, slots, threads);
  const bool ran =
      copies != nullptr && RunOnCopies(ctx, begin, end, threads, unit, fresh, copies.get());
  AtomicsGate::LeaveAlone();
  spare.Keep(std::move(copies));
  return ran;
}

void LoadedKernel::BoundTask::RunEither(bool by_one, const KilnContext& ctx, int64_t begin,
                                        int64_t end, int threads, int64_t unit) const {
  // If another launch is inside, the faster variant has to wait for a later launch; the slower one
  // runs.
  if (by_one && RunAlone(ctx, begin, end, unit)) return;
  AtomicsGate::Enter();
  if (threads == 1) {
    cost.RunParts(run, ctx, begin, end, unit);
  } else {
    const int64_t start = NowNanoseconds();
    RunShared(ctx, begin, end, threads, unit);
    if (!HasFailed(ctx)) together_cost.Measure(NowNanoseconds() - start, end - begin);
  }
  AtomicsGate::Leave();
}

void LoadedKernel::BoundTask::RunAtomics(const KilnContext& ctx, int64_t begin, int64_t end,
                                         int threads, int64_t unit) const {
  const auto measured = [&] { return cost.measured() && alone_cost.measured(); };
  const bool first_launch = threads > 1 && !measured();
  if (first_launch) {
    // A few iterations of each variant: the rest runs by the better one.
    begin = TryVariants(ctx, begin, end, unit);
    if (begin >= end || HasFailed(ctx)) return;
    threads = static_cast<int>(std::min<int64_t>(threads, (end - begin + unit - 1) / unit));
  }
  // Until both variants are measured, run alone: that measures it, and suits small loops.
  if (threads == 1 || !measured()) {
    return RunEither(/*by_one=*/true, ctx, begin, end, threads, unit);
  }
  const double by_one = alone_cost.Estimate(end - begin);
  // Before the first shared run, assume perfect scaling. It favours sharing, which then measures
  // itself.
  const double shared = together_cost.measured() ? together_cost.Estimate(end - begin)
                                                 : cost.Estimate(end - begin) / threads + kHandOver;
  const bool better_alone = by_one <= shared;
  if (first_launch) {
    // Contention may make atomics many times slower, which one thread did not see.
    const int64_t tried = begin + (end - begin) / kTriedPart / unit * unit;
    if (better_alone || shared < kTryPartFrom || tried == begin) {
      return RunEither(better_alone, ctx, begin, end, threads, unit);
    }
    RunEither(/*by_one=*/false, ctx, begin, tried, threads, unit);
    if (HasFailed(ctx)) return;
    const int64_t rest = end - tried;
    return RunEither(
        together_cost.measured() && alone_cost.Estimate(rest) <= together_cost.Estimate(rest), ctx,
        tried, end, threads, unit);
  }
  if (PrefersCopies(ctx, end - begin, threads, std::min(by_one, shared)) &&
      RunPrivately(ctx, begin, end, threads, unit)) {
    return;
  }
  const double other = std::max(by_one, shared);
  // In long loops, measure only the last iterations, which reuse what the first ones allocated.
  const bool part = other >= kTryPartFrom;
  if (!choice.TimeForOther(std::min(by_one, shared), part ? other / kTriedPart : other)) {
    return RunEither(better_alone, ctx, begin, end, threads, unit);
  }
  // A multiple of the unit: a split within a piece would change which iterations a partial result
  // covers.
  const int64_t first = part ? (end - begin) / kTriedPart * (kTriedPart - 1) / unit * unit : 0;
  if (first > 0) RunEither(better_alone, ctx, begin, begin + first, threads, unit);
  if (HasFailed(ctx)) return;
  // The old measurement of the tried variant is the reason for the retry, so the new one replaces
  // it instead of being averaged. A measurement of the last part alone is provisional again.
  Cost& tried = better_alone ? together_cost : alone_cost;
  tried.Distrust();
  RunEither(!better_alone, ctx, begin + first, end, threads, unit);
  if (first > 0) tried.Distrust();
}

void LoadedKernel::RunOnTree(const BoundTask& task, KilnContext* ctx, int max_threads,
                             std::shared_ptr<const ElementList>* list) {
  if (task.kind == TaskKind::kStruct) {
    if (*list == nullptr) return;
    // `list` keeps the elements alive: another launch may replace the tree's list at any time.
    ctx->elements = (*list)->data();
    // Each element stands for `iterations` iterations (the cells of a block, say), so the loop's
    // range is their product. BindTask bounds the factor that comes from the file.
    const int64_t elements = (*list)->size();
    // Take whole elements, so that a task prepares each element only once.
    const int64_t unit = elements >= kElementsForUnits ? task.iterations : 1;
    return task.RunRange(*ctx, 0, elements * task.iterations, max_threads, unit);
  }
  KilnNode* node = reinterpret_cast<KilnNode* const*>(ctx->arguments[task.tree_slot])[task.node];
  // The client passes the nodes of the tree whose layout the kernel was compiled for.
  KILN_CHECK(node != nullptr) << "a list of SNode " << task.node << " of the kernel's tree";
  int number;
  Tree& tree = Tree::Of(node, &number);
  // A gc task makes no list, and leaves the one before it usable: collected cells stay mapped.
  if (task.kind == TaskKind::kGc) return tree.Collect(number, max_threads);
  *list = tree.List(number, task.slices, max_threads);
  if (*list == nullptr)
    ReportError(ctx, "out of memory: no room for the list of a struct-for's cells");
}

bool LoadedKernel::Launch(const uint64_t* arguments, uint64_t* results,
                          const LaunchOptions& options) const {
  if (device_code_ != nullptr) return device_code_->Launch(arguments, results, options);
  const LaunchHooks* const hooks = options.hooks;
  Launched launched{hooks, options.executor};
  // The caller's flag, if there is one, so that Ctrl-C can end the launch from a signal handler.
  volatile uint32_t* const failed =
      hooks != nullptr && hooks->failed != nullptr ? hooks->failed : &launched.failed;
  KilnContext ctx = {arguments, results, nullptr, &Runtime(), 0, failed, &launched};
  if (info_.draws) ctx.random = options.random ? *options.random : NextLaunchRandom();
  std::shared_ptr<const ElementList> list;
  auto run = [&] {
    for (const BoundTask& task : tasks_) {
      if (task.serial) {
        task.run(&ctx, task.begin, task.end, 0);
      } else if (task.tree_slot >= 0) {
        RunOnTree(task, &ctx, options.max_threads, &list);
      } else {
        int64_t bounds[2] = {task.begin, task.end};
        if (task.bounds != nullptr) task.bounds(&ctx, bounds);
        task.RunRange(ctx, bounds[0], bounds[1], options.max_threads, /*unit=*/1);
      }
      // Tasks after a failed one would compute with values that were never written.
      if (HasFailed(ctx)) return false;
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
