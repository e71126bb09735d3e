// Copies and fills regular arrays whose layouts differ: between fields in column-major, blocked or
// SOA layouts and C-ordered arrays.
//
// Thread safety: the functions access only the given memory.
#ifndef KILN_CLIENT_CPP_HOST_STRIDED_COPY_H_
#define KILN_CLIENT_CPP_HOST_STRIDED_COPY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln {

// One loop over both sides, in elements and bytes.
struct CopyAxis {
  int64_t extent;
  int64_t to_stride;
  int64_t from_stride;
};

// Computes to[sum i_a * to_stride_a] = from[sum i_a * from_stride_a] for all indices i; elements
// have `size` bytes. The axes may be in any order: the function merges, sorts and tiles them so
// that it accesses both sides in whole cache lines.
void CopyStrided(uint8_t* to, const uint8_t* from, std::vector<CopyAxis> axes, size_t size);

// The same with one value of `size` bytes (1, 2, 4 or 8) instead of `from`; ignores from_stride.
void FillStrided(uint8_t* to, const void* value, std::vector<CopyAxis> axes, size_t size);

// The same with zeros, for memory that ClearMemory takes (clear_memory.h).
void ClearStrided(uint8_t* to, std::vector<CopyAxis> axes, size_t size);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_STRIDED_COPY_H_
