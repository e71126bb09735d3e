// Checks the structure of a unit from an untrusted source. Every id is in range. Every operand is
// defined before its use, in an enclosing block. Operand counts and types follow the tables and
// rules. Terminators are last, loops and breaks are in valid places, depths and sizes are bounded.
// Lowering relies on this and repeats none of these checks.
//
// Mistakes of the user (a break in a parallel loop) are diagnostics. A unit that no front end makes
// is InvalidArgument; the message names the node and what was expected.
#ifndef KILN_COMMON_UNIT_CHECK_UNIT_H_
#define KILN_COMMON_UNIT_CHECK_UNIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/language/ids.h"
#include "common/language/type.h"
#include "common/unit/argument_layout.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

// The nodes that a function's blocks list, in program order.
using ReachedNodes = IdVector<FunctionId, std::vector<NodeId>>;

// The results of the check, for later stages.
struct CheckedUnit {
  TypeTable types;  // first the kernel's types, with the same ids; then types of results
  ArgumentLayout arguments;
  ReachedNodes nodes;  // the checked nodes
};

absl::StatusOr<CheckedUnit> CheckUnit(const proto::CompileUnit& unit,
                                      std::vector<proto::Diagnostic>* diagnostics);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CHECK_UNIT_H_
