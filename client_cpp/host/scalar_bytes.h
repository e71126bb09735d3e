// Reads scalars of the language in memory as C++ numbers, by the runtime's functions.
#ifndef KILN_CLIENT_CPP_HOST_SCALAR_BYTES_H_
#define KILN_CLIENT_CPP_HOST_SCALAR_BYTES_H_

#include <cstdint>

#include "common/language/type.h"
#include "runtime/scalar.h"

namespace kiln {

inline SlotScalar SlotScalarOf(Scalar scalar) { return static_cast<SlotScalar>(scalar); }

// The scalar in the ScalarBytes(scalar) bytes at `address`, which may be unaligned.
double ScalarToDouble(Scalar scalar, const void* address);
// The same for integers, sign- or zero-extended; 0 for floats.
int64_t ScalarToInt(Scalar scalar, const void* address);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_SCALAR_BYTES_H_
