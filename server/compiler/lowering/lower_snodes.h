// Nodes that activate, deactivate, list and address cells of SNodes.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_SNODES_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_SNODES_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

void Lower(LoweringContext& c, SNodeActivateNode node);
void Lower(LoweringContext& c, SNodeDeactivateNode node);
Scalars Lower(LoweringContext& c, SNodeIsActiveNode node);
Scalars Lower(LoweringContext& c, SNodeLengthNode node);
Scalars Lower(LoweringContext& c, SNodeAppendNode node);
Scalars Lower(LoweringContext& c, SNodeAddressNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_SNODES_H_
