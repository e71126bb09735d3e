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

#include "absl/status/status.h"
#include "proto/diagnostic.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

inline constexpr int kMaxBlockDepth = 256;

absl::Status CheckUnit(const proto::CompileUnit& unit, std::vector<proto::Diagnostic>* diagnostics);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CHECK_UNIT_H_
