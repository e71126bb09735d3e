// Which version of the C library's math functions a unit's code depends on.
#ifndef KILN_COMMON_UNIT_MATH_LIBRARY_H_
#define KILN_COMMON_UNIT_MATH_LIBRARY_H_

#include <cstdint>

#include "kiln/proto/unit.pb.h"

namespace kiln {

// The Target.glibc of a unit for machines with glibc 2.`available`. Not `available` itself: units
// whose code is the same on all machines must have the same key on all.
uint32_t GlibcFor(const proto::CompileUnit& unit, uint32_t available);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_MATH_LIBRARY_H_
