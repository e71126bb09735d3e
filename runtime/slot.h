// Numbers in the 8-byte slots of a launch. Scalars are SlotScalar numbers (runtime/scalar.h).
//
// Thread safety: pure functions.
#ifndef KILN_RUNTIME_SLOT_H_
#define KILN_RUNTIME_SLOT_H_

#include <cstdint>

#include "runtime/scalar.h"

namespace kiln {

// Writes a number as a scalar to the start of a zeroed slot, converted as kernels convert.
uint64_t SlotOf(uint32_t scalar, double value);
uint64_t SlotOf(uint32_t scalar, int64_t value);
uint64_t SlotOf(uint32_t scalar, uint64_t value);

}  // namespace kiln

#endif  // KILN_RUNTIME_SLOT_H_
