// Copies and fills of regular arrays in memory whose two sides lie in different orders:
// fields in column-major, blocked or SOA layouts, and C-ordered arrays of them.
//
// Thread safety: pure functions of the memory they are given.
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

// to[sum i_a * to_stride_a] = from[sum i_a * from_stride_a] of `size` bytes each, for
// all i. The axes may come in any order: they are merged, sorted and tiled so that both
// sides are touched in whole cache lines.
void CopyStrided(uint8_t* to, const uint8_t* from, std::vector<CopyAxis> axes, size_t size);

// The same with one value of `size` bytes (1, 2, 4 or 8) in place of `from`, whose
// strides are not looked at.
void FillStrided(uint8_t* to, const void* value, std::vector<CopyAxis> axes, size_t size);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_STRIDED_COPY_H_
