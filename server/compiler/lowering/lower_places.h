// Nodes that name memory: locals, cells of storages, and parts of them.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_PLACES_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_PLACES_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Fills in LoweringContext::dynamic. `nodes`: all that blocks list.
void FindDynamicLocals(LoweringContext& c, const std::vector<NodeId>& nodes);

// Each sets the node's place.
void Lower(LoweringContext& c, LocalNode node);
void Lower(LoweringContext& c, SharedArrayNode node);
void Lower(LoweringContext& c, ElementNode node);
void Lower(LoweringContext& c, MemberNode node);
void Lower(LoweringContext& c, GlobalNode node);
void Lower(LoweringContext& c, JoinNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_PLACES_H_
