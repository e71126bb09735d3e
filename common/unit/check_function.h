// The check of one function; part of CheckUnit (common/unit/check_unit.h).
#ifndef KILN_COMMON_UNIT_CHECK_FUNCTION_H_
#define KILN_COMMON_UNIT_CHECK_FUNCTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/language/ids.h"
#include "common/unit/unit_facts.h"
#include "kiln/proto/diagnostic.pb.h"

namespace kiln {

// Walks the function's blocks and checks each node that they list (check_node.h). Returns these
// nodes in program order; it checks no others. Requires: the unit's trees, storages and signatures
// are checked.
absl::StatusOr<std::vector<NodeId>> CheckFunction(const UnitFacts& facts, FunctionId function,
                                                  std::vector<proto::Diagnostic>* diagnostics);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CHECK_FUNCTION_H_
