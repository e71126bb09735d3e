// The size of the processor's largest cache.
#ifndef KILN_RUNTIME_CPU_CACHE_SIZE_H_
#define KILN_RUNTIME_CPU_CACHE_SIZE_H_

#include <cstdint>

namespace kiln {

// In bytes, of one such cache: a processor may have several, each of some cores. 0 if the processor
// does not say. Takes a few microseconds where a hypervisor answers.
uint64_t LargestCacheBytes();

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_CACHE_SIZE_H_
