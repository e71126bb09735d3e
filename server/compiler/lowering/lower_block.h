// Blocks: the one place that knows the handlers of all kinds of nodes.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_BLOCK_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_BLOCK_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Lowers the block's nodes in order, up to one that leaves it. Adds no terminator of its own.
void LowerBlock(LoweringContext& c, BlockId block);

// Lowers one node at the builder's place, as the context's current node.
void LowerNode(LoweringContext& c, NodeId id);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_BLOCK_H_
