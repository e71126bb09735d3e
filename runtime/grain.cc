#include "runtime/grain.h"

#include <algorithm>

#include "runtime/cpu/thread_pool.h"
#include "runtime/failed.h"

namespace kiln {
namespace {

// If loops that are worth sharing follow one another this closely, wake the threads anyway.
constexpr int64_t kBurst = 100'000;
// Loops this long are shared even if other programs need the cores.
constexpr int64_t kShareAnyway = 2'000'000;
// Loops this long tell whether threads that were parked got a core.
constexpr double kTellsFrom = 4.0 * kWakeFrom;
constexpr int64_t kChunkNanoseconds = 2'000;
// The least work of a thread that is awake and of one that is parked: its arrival costs as much.
constexpr double kLeastOfThread = 2'000, kLeastOfParked = 40'000;
// Enough chunks for dynamic balance, but few enough that their fixed cost is negligible.
constexpr int64_t kChunksPerThread = 16;
// In the long run, the slower variant of a task gets one part in this many of the time.
constexpr uint32_t kMaxPatience = 256;
// Loops check after parts of at most about this length whether the launch has failed.
constexpr int64_t kPartNanoseconds = 20'000'000;
// Loops run in parts if they take at least kPartsFrom by the compiler's estimate, which may be far
// too low. The first part takes kFirstPart, or kFirstIterations if there is no estimate.
constexpr int64_t kPartsFrom = 500'000, kFirstPart = 20'000, kFirstIterations = 64;
// The number of pieces of a loop with partial results: at most kMostPieces, unless a piece would
// then have more than kMostOfPiece iterations.
constexpr int64_t kMostPieces = 512, kEnoughPieces = 64, kFewIterations = 8;
constexpr int64_t kMostOfPiece = 65'536, kMostPiecesEver = 65'536;

// The time at which the calling thread last ran a loop that was worth sharing.
thread_local int64_t last_shareable = 0;

// See NoteContention.
class Contention {
 public:
  bool SeenBefore(int64_t now) const { return now < until_.load(std::memory_order_relaxed); }

  void Note(bool contended, int64_t now) {
    // Doubling on failure and halving on success: a machine that stays busy costs one shared loop
    // in 160 ms, and one that becomes free is used again after a few loops.
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
uint32_t UpdatedCost(uint32_t old, bool rough, double cost) {
  auto now = static_cast<uint32_t>(std::clamp(cost, 1.0, 4e9));
  if (rough) return now;
  if (now >= old) return std::min<uint64_t>(now, uint64_t{old} * 4);
  return old - (old - now + 1) / 2;
}

}  // namespace

Sharing ThreadsFor(double estimate, int most, const Executor& executor) {
  constexpr Sharing kAlone = {1, false};
  if (most < 2 || estimate < kShareFrom) return kAlone;
  const auto with = [&](double least) {
    return static_cast<int>(std::clamp<double>(estimate / least, 2, most));
  };
  Sharing found = {with(kLeastOfThread), false};
  found.awake = executor.Awake(found.threads);
  const int64_t now = NowNanoseconds();
  if (!found.awake) {
    // One short loop does not repay waking a thread. In a burst, threads that spin after the first
    // loop meet the next one awake, so the cost is paid once.
    const bool burst = now - last_shareable < kBurst;
    // The loop's expected end, because the gap to the next loop counts from there.
    last_shareable = now + static_cast<int64_t>(estimate);
    if (!burst && estimate < kWakeFrom) return kAlone;
    if (!burst) found.threads = with(kLeastOfParked);
  }
  const bool shared =
      estimate >= kShareAnyway || !executor.has_own_threads() || !contention.SeenBefore(now);
  return shared ? found : kAlone;
}

void NoteContention(const SharedRun& run) {
  if (run.of_caller <= 0) return;
  // What the caller would have taken for all iterations at the pace of its own.
  const double alone = static_cast<double>(run.caller_took) * static_cast<double>(run.iterations) /
                       static_cast<double>(run.of_caller);
  // Threads that first had to wake up may be late even without contention. By measured time: the
  // estimate of a loop that touches its memory for the first time is far too high for the next.
  if (!run.awake && alone < kTellsFrom) return;
  // Threads that save less than a tenth of it got no core.
  contention.Note(static_cast<double>(run.end - run.begin) > 0.9 * alone + kHandOver, run.end);
}

void Cost::Measure(int64_t nanoseconds, int64_t iterations) {
  if (iterations <= 0) return;
  const uint32_t old = value();
  const bool was_rough = rough_.load(std::memory_order_relaxed);
  const double cost = static_cast<double>(nanoseconds) * kUnit / static_cast<double>(iterations);
  const uint32_t updated = UpdatedCost(old, was_rough, cost);
  // Most launches change nothing. Not storing keeps the cache line shared between threads.
  if (updated != old) value_.store(updated, std::memory_order_relaxed);
  if (was_rough) rough_.store(false, std::memory_order_relaxed);
  if (!measured()) measured_.store(true, std::memory_order_relaxed);
}

void Cost::MeasureUnlessOnce(int64_t nanoseconds, int64_t iterations) {
  const bool slow = measured() && static_cast<double>(nanoseconds) > 2 * Estimate(iterations);
  const bool was_slow = was_slow_.load(std::memory_order_relaxed);
  if (slow != was_slow) was_slow_.store(slow, std::memory_order_relaxed);
  if (!slow || was_slow) Measure(nanoseconds, iterations);
}

int64_t Cost::Try(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end, int64_t unit) {
  // A sixty-fourth of the loop, so that a wrong decision about the rest costs little.
  const int64_t units = std::max<int64_t>(1, (end - begin) / 64 / unit);
  const int64_t some = std::min(end, begin + units * unit);
  const int64_t start = NowNanoseconds();
  RunParts(run, ctx, begin, some, unit);
  const int64_t took = NowNanoseconds() - start;
  if (HasFailed(ctx)) return some;
  // For small pieces, the first accesses to code and memory distort the measurement.
  if (took > kChunkNanoseconds || value() == 0) {
    Measure(took, some - begin);
    // The first iterations may also differ from the others, which reuse what the first ones
    // allocate.
    Distrust();
  }
  return some;
}

void Cost::RunMeasured(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end,
                       int64_t unit) {
  if (RunShort(run, ctx, begin, end)) return;
  turn_.store(0, std::memory_order_relaxed);
  const int64_t start = NowNanoseconds();
  RunParts(run, ctx, begin, end, unit);
  if (!HasFailed(ctx)) Measure(NowNanoseconds() - start, end - begin);
}

void Cost::RunParts(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end,
                    int64_t unit) const {
  const uint32_t each = value();
  // The usual case: a short loop is one call, without a look at the clock.
  if (each != 0 && static_cast<double>(end - begin) * each <= kPartsFrom * kUnit) {
    return run(&ctx, begin, end, 0);
  }
  // A measured cost allows a first part of full length. An estimate may be wrong by orders of
  // magnitude, so the first part is a thousandth of it, and doubling finds the length.
  const bool known = measured();
  const int64_t first = (known ? kPartNanoseconds : kFirstPart) * kUnit;
  int64_t units = std::max<int64_t>(1, (each == 0 ? kFirstIterations : first / each) / unit);
  while (begin < end && !HasFailed(ctx)) {
    const int64_t to = end - begin <= units * unit ? end : begin + units * unit;
    const int64_t start = NowNanoseconds();
    run(&ctx, begin, to, 0);
    const int64_t took = NowNanoseconds() - start;
    // Parts near the limit keep their size: between a half and twice the limit nothing changes.
    if (took < kPartNanoseconds / 2 && to < end) units *= 2;
    if (took > 2 * kPartNanoseconds)
      units = std::max<int64_t>(1, units / (took / kPartNanoseconds));
    begin = to;
  }
}

bool VariantChoice::TimeForOther(double chosen, double trying) {
  const double now = spent_.load(std::memory_order_relaxed) + chosen;
  const uint32_t wait = patience_.load(std::memory_order_relaxed);
  const bool time = now >= wait * trying;
  // Launches on other threads may overwrite each other's sums. A retry then comes a little later.
  spent_.store(time ? 0 : now, std::memory_order_relaxed);
  if (time) patience_.store(std::min(2 * wait, kMaxPatience), std::memory_order_relaxed);
  return time;
}

int64_t Cost::ChunkSize(int64_t count, int threads, int64_t unit) const {
  const int64_t part = kPartNanoseconds * kUnit / std::max(value(), 1u);
  // At least 2 us of work, or taking the chunk would cost as much as running it. At most a part (20
  // ms), because a thread looks at the failure flag between chunks.
  int64_t chunk = std::clamp<int64_t>(count / (threads * kChunksPerThread),
                                      part / (kPartNanoseconds / kChunkNanoseconds), part);
  chunk = std::max<int64_t>(chunk, 1);  // even if an iteration takes longer than a part
  if (unit > 1) return (chunk + unit - 1) / unit * unit;
  if (chunk >= 512) chunk = chunk / 64 * 64;  // whole cache lines, whatever the element's size
  return chunk;
}

int64_t PieceSize(int64_t iterations, int64_t grain, int64_t unit) {
  // In order: at most 512 pieces, but none above 65,536 iterations; no piece below the code's
  // grain; and never more than 65,536 pieces, whose results need memory.
  int64_t size = std::min(kMostOfPiece, (iterations + kMostPieces - 1) / kMostPieces);
  size = std::max({size, grain, (iterations + kMostPiecesEver - 1) / kMostPiecesEver});
  // If iterations may be long, take only a few per piece, as long as enough pieces remain to share.
  size = std::max(size, std::min(kFewIterations, iterations / kEnoughPieces));
  if (size >= 512) size = (size + 63) / 64 * 64;  // whole cache lines, whatever the element's size
  return (size + unit - 1) / unit * unit;
}

}  // namespace kiln
