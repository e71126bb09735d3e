// Where code for all targets finds what runtime/abi.h lays out: constants, taken from its
// structs. A field that moves takes its offset here along; one whose size or kind changes fails the
// build.
#ifndef KILN_SERVER_COMPILER_CODEGEN_ABI_H_
#define KILN_SERVER_COMPILER_CODEGEN_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/abi.h"

namespace kiln::abi {

// The compiler's own layout of the structs is the target's. A target with other pointers needs a
// layout of its own.
inline constexpr int64_t kPointerBytes = 8;
static_assert(sizeof(void*) == kPointerBytes);

// Arguments, results, partial results and the values of a report: 8 bytes each.
inline constexpr int64_t kSlotBytes = 8;

// KilnNode: pointers to cells. A tree's states are an array of pointers to these, by node.
inline constexpr int64_t kAmbient = offsetof(KilnNode, ambient);
inline constexpr int64_t kDump = offsetof(KilnNode, dump);
static_assert(std::is_same_v<decltype(KilnNode::ambient), uint8_t*>);
static_assert(std::is_same_v<decltype(KilnNode::dump), uint8_t*>);

// KilnElement: a pointer, then i32s. Axis A's index is at kAt + A * kIndexBytes.
inline constexpr int64_t kElementBytes = sizeof(KilnElement);
inline constexpr int64_t kCell = offsetof(KilnElement, cell);
inline constexpr int64_t kBegin = offsetof(KilnElement, begin);
inline constexpr int64_t kCount = offsetof(KilnElement, count);
inline constexpr int64_t kAt = offsetof(KilnElement, at);
inline constexpr int64_t kIndexBytes = sizeof(KilnElement::at[0]);
static_assert(std::is_same_v<decltype(KilnElement::begin), int32_t>);
static_assert(std::is_same_v<decltype(KilnElement::count), int32_t>);
static_assert(std::is_same_v<decltype(KilnElement::at), int32_t[KILN_MAX_AXES]>);

// Physical axes of a tree are numbered below this.
inline constexpr int64_t kMaxAxes = KILN_MAX_AXES;

}  // namespace kiln::abi

#endif  // KILN_SERVER_COMPILER_CODEGEN_ABI_H_
