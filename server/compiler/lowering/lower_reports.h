// What leaves the kernel: results, printed values, failed assertions.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_REPORTS_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_REPORTS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

void Lower(LoweringContext& c, ReturnNode node);
void Lower(LoweringContext& c, PrintNode node);
// Debug mode only; else nothing.
void Lower(LoweringContext& c, AssertNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_REPORTS_H_
