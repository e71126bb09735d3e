// The facts that the checks of all functions of a unit share; part of CheckUnit
// (common/unit/check_unit.h).
#ifndef KILN_COMMON_UNIT_UNIT_FACTS_H_
#define KILN_COMMON_UNIT_UNIT_FACTS_H_

#include <vector>

#include "common/language/ids.h"
#include "common/language/type.h"
#include "common/language/type_rules.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

struct UnitFacts {
  const proto::CompileUnit& unit;
  TypeTable* types;  // grows, because the rules intern types of results
  DefaultTypes defaults;
  std::vector<int> num_indices;      // per storage
  std::vector<TypeId> element_type;  // per storage; none: it has no values
};

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_UNIT_FACTS_H_
