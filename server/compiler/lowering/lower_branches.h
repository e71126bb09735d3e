// IF, and CHOOSE with its YIELDs.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_BRANCHES_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_BRANCHES_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

void Lower(LoweringContext& c, IfNode node);
Scalars Lower(LoweringContext& c, ChooseNode node);
void Lower(LoweringContext& c, YieldNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_BRANCHES_H_
