// Sets large memory to zero without touching pages that hold zeros because nothing has written to
// them. Programs clear the gradients of all fields at each step. Where a field is much larger than
// the part that they use, only that part costs time and memory.
#ifndef KILN_CLIENT_CPP_HOST_CLEAR_MEMORY_H_
#define KILN_CLIENT_CPP_HOST_CLEAR_MEMORY_H_

#include <cstdint>

namespace kiln {

// Sets `bytes` from `at` to zero. Requires a private anonymous mapping, as RootBuffer's: pages of
// other mappings may hold data that this process has not touched.
//
// Thread safety: accesses only the given memory.
void ClearMemory(uint8_t* at, uint64_t bytes);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_CLEAR_MEMORY_H_
