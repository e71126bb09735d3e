// Checks of one function's nodes and blocks; part of CheckUnit (common/unit/check_unit.h).
#ifndef KILN_COMMON_UNIT_CHECK_FUNCTION_H_
#define KILN_COMMON_UNIT_CHECK_FUNCTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/language/ids.h"
#include "common/language/type.h"
#include "common/language/type_rules.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

// The facts that all functions of a unit share. `types` grows, because the rules intern types of
// results.
struct UnitFacts {
  const proto::CompileUnit& unit;
  TypeTable* types;
  DefaultTypes defaults;
  std::vector<int> num_indices;      // per storage
  std::vector<TypeId> element_type;  // per storage; none: it has no values
};

// Checks a function. Returns the nodes that its blocks list, in program order; it checks no others.
absl::StatusOr<std::vector<NodeId>> CheckFunction(const UnitFacts& facts, FunctionId function,
                                                  std::vector<proto::Diagnostic>* diagnostics);

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CHECK_FUNCTION_H_
