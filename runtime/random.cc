#include "runtime/random.h"

#include <atomic>

namespace kiln {
namespace {

std::atomic<uint64_t> seed{0};
// generation:32 | threads:32. The generation counts seeds; threads counts those that have drawn
// since.
std::atomic<uint64_t> callers{uint64_t{1} << 32};

struct Caller {
  uint32_t generation = 0;
  uint64_t state = 0;
};
thread_local Caller caller;

uint32_t Generation(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

uint64_t SplitMix(uint64_t* x) { return SplitMixOf(*x += kSplitMixStep); }

}  // namespace

void SetRandomSeed(uint64_t value) {
  seed.store(value, std::memory_order_relaxed);
  uint64_t old = callers.load(std::memory_order_relaxed);
  // A new generation makes every thread start a new sequence at its next draw, numbered from 0
  // again. The release publishes `seed` with it.
  while (!callers.compare_exchange_weak(old, uint64_t{Generation(old) + 1} << 32,
                                        std::memory_order_release, std::memory_order_relaxed)) {
  }
}

uint64_t NextLaunchRandom() {
  if (caller.generation != Generation(callers.load(std::memory_order_acquire))) {
    const uint64_t word = callers.fetch_add(1, std::memory_order_acq_rel);
    caller.generation = Generation(word);
    // Hashed before the thread is mixed in, so that neighbouring seeds share no sequences.
    uint64_t state = seed.load(std::memory_order_relaxed);
    // The multiplier is odd, so distinct threads stay distinct; any odd number with mixed bits
    // would do.
    caller.state = SplitMix(&state) ^ (static_cast<uint32_t>(word) * 0xd1342543de82ef95u);
    caller.state = SplitMix(&caller.state);
  }
  return SplitMix(&caller.state);
}

}  // namespace kiln
