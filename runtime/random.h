// Seeds of a launch's random numbers.
//
// Kernels share no generator: each iteration draws from a stream of its own, determined by the
// launch's number and the iteration's index (runtime/device_lib/device_lib.h). The numbers
// therefore depend neither on the number of threads nor on the thread that runs an iteration.
//
// Each thread of the program counts its own launches. Threads are numbered in the order of their
// first launch since the seed was set.
#ifndef KILN_RUNTIME_RANDOM_H_
#define KILN_RUNTIME_RANDOM_H_

#include <cstdint>

namespace kiln {

// SplitMix64: state kSplitMixStep * n gives the n-th number. Steele, Lea and Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014.
inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;
constexpr uint64_t SplitMixOf(uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

// Restarts all numbers from `seed` (0 at process start): the next launch of each thread counts as
// its first. Thread-safe.
void SetRandomSeed(uint64_t seed);

// KilnContext.random for the calling thread's next launch that draws: well mixed, and distinct
// except by chance. Takes no lock.
uint64_t NextLaunchRandom();

}  // namespace kiln

#endif  // KILN_RUNTIME_RANDOM_H_
