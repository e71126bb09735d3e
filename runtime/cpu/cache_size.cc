#include "runtime/cpu/cache_size.h"

#include <cpuid.h>

#include <algorithm>

namespace kiln {
namespace {

// The leaves that list caches: Intel's, AMD's. Both have the same form; a processor answers the
// other one with zeroes.
constexpr uint32_t kLeaves[] = {4, 0x8000001d};
constexpr uint32_t kMostCaches = 8;

uint64_t LargestOf(uint32_t leaf) {
  uint64_t largest = 0;
  uint32_t eax, ebx, ecx, edx;
  for (uint32_t i = 0; i < kMostCaches && __get_cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx); ++i) {
    if ((eax & 0x1f) == 0) break;  // no more caches
    const uint64_t ways = (ebx >> 22) + 1, partitions = (ebx >> 12 & 0x3ff) + 1;
    const uint64_t line = (ebx & 0xfff) + 1, sets = uint64_t{ecx} + 1;
    largest = std::max(largest, ways * partitions * line * sets);
  }
  return largest;
}

}  // namespace

// Not by sysconf, which takes the caches of a whole AMD processor for one.
uint64_t LargestCacheBytes() {
  uint64_t largest = 0;
  for (const uint32_t leaf : kLeaves) largest = std::max(largest, LargestOf(leaf));
  return largest;
}

}  // namespace kiln
