// Numbers in the 8-byte slots of a launch.
//
// Thread safety: pure functions.
#ifndef KILN_CLIENT_CPP_SLOT_H_
#define KILN_CLIENT_CPP_SLOT_H_

#include <cstdint>

#include "kiln/proto/type.pb.h"

namespace kiln {

// Writes a number as scalar `type` to the start of a zeroed slot.
uint64_t SlotOf(proto::Scalar type, double value);
uint64_t SlotOf(proto::Scalar type, int64_t value);
uint64_t SlotOf(proto::Scalar type, uint64_t value);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_SLOT_H_
