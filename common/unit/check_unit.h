// The structure of a unit, checked without trust: every id in range, every
// operand defined before its use in an enclosing block, operand counts and
// types by the tables and rules, terminators last, loops and breaks where they
// may be, depth and sizes bounded. What passes can be lowered without further
// checks of form.
//
// User's mistakes (a break in a parallel loop) are diagnostics; a message that
// no front end makes is InvalidArgument naming the node and what was expected.
#ifndef KILN_COMMON_UNIT_CHECK_UNIT_H_
#define KILN_COMMON_UNIT_CHECK_UNIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/language/type.h"
#include "common/unit/argument_layout.h"
#include "proto/diagnostic.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

inline constexpr int kMaxBlockDepth = 256;

// The nodes of the kernel's body, then of each function, that blocks list, in program order.
using ReachedNodes = std::vector<std::vector<uint32_t>>;

// What the check works out and later stages need.
struct CheckedUnit {
  TypeTable types;  // the kernel's, by their numbers in it; others follow
  ArgumentLayout arguments;
  ReachedNodes nodes;  // no others were checked
};

absl::StatusOr<CheckedUnit> CheckUnit(const proto::CompileUnit& unit,
                                      std::vector<proto::Diagnostic>* diagnostics);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CHECK_UNIT_H_
