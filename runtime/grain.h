// How long the iterations of loops take, and what follows from it: whether threads share a loop, in
// which chunks they take it, and which variant of a task with atomics runs.
//
// Thread-safe. Nothing locks: a race can lose an update, and all of them are hints.
#ifndef KILN_RUNTIME_GRAIN_H_
#define KILN_RUNTIME_GRAIN_H_

#include <atomic>
#include <cstdint>

#include "runtime/abi.h"
#include "runtime/cpu/executor.h"

namespace kiln {

// Shorter loops are not worth sharing even with threads that are awake.
inline constexpr int64_t kShareFrom = 4'000;
// Shorter loops are not worth waking a parked thread: that costs a system call, and the thread
// helps only after some fifty microseconds.
inline constexpr int64_t kWakeFrom = 80'000;
inline constexpr double kHandOver = 2'000;  // the fixed cost of sharing a loop, generously

// The cost of an iteration: the compiler's estimate, then the measurements of launches, because the
// cost of inner loops cannot be estimated statically.
class Cost {
 public:
  // Sets the compiler's estimate.
  void Expect(uint32_t nanoseconds) { value_ = nanoseconds * kUnit; }
  // Whether a launch has measured it.
  bool measured() const { return measured_.load(std::memory_order_relaxed); }
  // Makes the next measurement replace the value, which covers few iterations or is old.
  void Distrust() { rough_.store(true, std::memory_order_relaxed); }

  // Of `iterations`, in nanoseconds.
  double Estimate(int64_t iterations) const {
    return static_cast<double>(iterations) * value() / kUnit;
  }
  void Measure(int64_t nanoseconds, int64_t iterations);
  // The same, but a time of more than twice the estimate counts only if the next one is as long. A
  // single launch is slow if its data is new to the caches, or if another program had a core. For
  // variants that launches would not take again for long after such a measurement.
  void MeasureUnlessOnce(int64_t nanoseconds, int64_t iterations);
  // Measures a few of the iterations, once; returns the first iteration still to run.
  int64_t Try(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end, int64_t unit);
  // Runs iterations on the caller if they are known to be short: two looks at the clock, or a
  // decision about threads, would take as long as the loop. False, having done nothing, for others,
  // and for one short loop in kSampledOf, which is to be measured: what an iteration costs may
  // change with the data.
  bool RunShort(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end) {
    if (rough_.load(std::memory_order_relaxed) || Estimate(end - begin) >= kShort) return false;
    const uint32_t turn = turn_.load(std::memory_order_relaxed);
    if (turn == kSampledOf) return false;
    turn_.store(turn + 1, std::memory_order_relaxed);
    run(&ctx, begin, end, 0);
    return true;
  }
  // Runs iterations on the caller, and measures them unless RunShort does.
  void RunMeasured(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end, int64_t unit);
  // Runs iterations on the caller. A long loop runs in parts of multiples of `unit` iterations,
  // sized by how long earlier parts took; a failed launch ends between two parts.
  void RunParts(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end,
                int64_t unit) const;
  // How many iterations a thread takes at a time, of `count` that `threads` share: a multiple of
  // `unit`.
  int64_t ChunkSize(int64_t count, int threads, int64_t unit) const;

 private:
  static constexpr uint32_t kUnit = 64;    // of `value_` in a nanosecond
  static constexpr double kShort = 1'000;  // nanoseconds
  static constexpr uint32_t kSampledOf = 16;
  static_assert(kShort < kShareFrom);

  uint32_t value() const { return value_.load(std::memory_order_relaxed); }

  std::atomic<uint32_t> value_{0};
  std::atomic<bool> measured_{false};
  std::atomic<bool> rough_{true};
  std::atomic<bool> was_slow_{false};  // see MeasureUnlessOnce
  std::atomic<uint32_t> turn_{0};      // short runs since the last that was measured
};

// Decides when to retry the slower variant of a task with atomics: its measurement may have met
// cold memory or a busy machine. A retry is due when the faster variant has taken `patience_` times
// as long as a retry takes; `patience_` doubles each time.
class VariantChoice {
 public:
  // Estimates for this launch: of the faster variant, and of a retry of the other.
  bool TimeForOther(double chosen, double trying);

 private:
  std::atomic<double> spent_{0};  // nanoseconds, since the last retry
  std::atomic<uint32_t> patience_{1};
};

// How many threads of up to `most` are worth using for a loop of `estimate` nanoseconds, and
// whether all of them are awake. One thread: the caller alone.
struct Sharing {
  int threads;
  bool awake;
};
Sharing ThreadsFor(double estimate, int most, const Executor& executor);

// What a loop took that the caller shared with threads of our own.
struct SharedRun {
  int64_t begin, end;              // when it ran, in nanoseconds
  int64_t iterations;              // its
  int64_t of_caller, caller_took;  // iterations of the caller, and the nanoseconds they took
  bool awake;                      // whether the threads were awake when it began
};
// Notes whether the threads failed to make the loop faster, because other programs need the cores.
// For a while, only long loops are then shared among such threads; the time grows with each retry
// that fails. One note for the process: its pools want the same cores.
void NoteContention(const SharedRun& run);

// The size of a piece of a loop with partial results: a multiple of `unit`. It depends only on the
// number of iterations, the code (`grain`) and the layout of the data (`unit`), so that each
// partial result always covers the same iterations.
int64_t PieceSize(int64_t iterations, int64_t grain, int64_t unit);

}  // namespace kiln

#endif  // KILN_RUNTIME_GRAIN_H_
