// Loops over the cells of a storage.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_STRUCT_LOOPS_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_STRUCT_LOOPS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// In memory order: the loop runs over the storage's digits, and an axis' index is the mixed-radix
// number of its digits. Below sparse SNodes the loop is over a list of the active cells.
void Lower(LoweringContext& c, StructForNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_STRUCT_LOOPS_H_
