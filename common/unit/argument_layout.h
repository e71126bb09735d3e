// The order of the 8-byte slots in a launch's argument buffer. It depends only on the unit, so
// client and worker compute the same order independently.
//
// For each parameter of the kernel body, in order:
//   value      one slot per scalar of the flattened type; the scalar's bytes
//              are at the start of the slot, the rest is zero
//   storage    dense:   `num_bases` base addresses, then the outermost extent
//                       (extent of digit 0, as i64)
//              ndarray: one base address, then `ndim` extents (i64)
//              tree:    no slots
// Then two slots for each tree of the unit: the address of the root's cell, and the address of
// an array of KilnNode* (runtime/abi.h), indexed by node of the TreePart. The array has null for
// nodes that are not sparse.
// Results: one 8-byte slot per scalar of the flattened return types, in order.
#ifndef KILN_COMMON_UNIT_ARGUMENT_LAYOUT_H_
#define KILN_COMMON_UNIT_ARGUMENT_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/language/ids.h"
#include "common/language/type.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

inline constexpr int kMaxArgumentSlots = 1 << 16;

struct ArgumentLayout {
  std::vector<proto::ArgumentSlot> slots;
  IdVector<ParamId, int> first_slot;
  std::vector<int> tree_slot;  // per tree of the unit: the first of its two slots
  std::vector<proto::Scalar> results;
};

// `types`: the kernel's types, with the kernel's ids.
absl::StatusOr<ArgumentLayout> LayoutArguments(const proto::CompileUnit& unit,
                                               const TypeTable& types);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_ARGUMENT_LAYOUT_H_
