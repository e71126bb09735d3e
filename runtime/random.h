// Random state of the threads that run kernels.
//
// Every thread that launches has a state of its own (serial tasks, and loops too
// small to share, use it without a lock); the pool's threads have one each.
#ifndef KILN_RUNTIME_RANDOM_H_
#define KILN_RUNTIME_RANDOM_H_

#include <cstdint>

namespace kiln {

// One cache line per thread index; KilnContext.random_states.
using RandomState = uint32_t[16];

// Restarts every stream from `seed` (0 at process start), each thread at its next
// launch. One thread with equal seeds draws equal numbers.
void SetRandomSeed(uint64_t seed);

// Counts calls of SetRandomSeed: states of an older generation are stale.
uint32_t RandomGeneration();

// Fills `state` with stream `stream` of the current seed.
void SeedRandomState(RandomState& state, uint64_t stream);

// The calling thread's own state, up to date with the seed.
RandomState* CallerRandomState();

}  // namespace kiln

#endif  // KILN_RUNTIME_RANDOM_H_
