#include "runtime/random.h"

#include <atomic>

namespace kiln {
namespace {

std::atomic<uint64_t> seed{0};
std::atomic<uint32_t> generation{1};
std::atomic<uint64_t> callers{0};

// Streams of callers start here, above those of the pool's threads.
constexpr uint64_t kFirstCallerStream = 1u << 20;

struct CallerState {
  alignas(64) RandomState state;
  uint32_t generation = 0;
  uint64_t stream = 0;
};
thread_local CallerState caller;

uint64_t SplitMix(uint64_t* x) {
  uint64_t z = (*x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

void SetRandomSeed(uint64_t value) {
  seed.store(value, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
}

uint32_t RandomGeneration() { return generation.load(std::memory_order_acquire); }

void SeedRandomState(RandomState& state, uint64_t stream) {
  uint64_t x = seed.load(std::memory_order_relaxed);
  // Hashed before the stream is mixed in: neighbouring seeds share no streams.
  x = SplitMix(&x) ^ (stream * 0xd1342543de82ef95u);
  for (int i = 0; i < 4; i += 2) {
    uint64_t word = SplitMix(&x);
    state[i] = static_cast<uint32_t>(word);
    state[i + 1] = static_cast<uint32_t>(word >> 32);
  }
  state[0] |= 1;  // xorshift never leaves the all-zero state
}

RandomState* CallerRandomState() {
  uint32_t now = RandomGeneration();
  if (caller.generation != now) {
    if (caller.stream == 0) {
      caller.stream = kFirstCallerStream + callers.fetch_add(1, std::memory_order_relaxed);
    }
    SeedRandomState(caller.state, caller.stream);
    caller.generation = now;
  }
  return &caller.state;
}

}  // namespace kiln
