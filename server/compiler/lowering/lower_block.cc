#include "server/compiler/lowering/lower_block.h"

#include <type_traits>

#include "common/language/op_table.h"
#include "server/compiler/lowering/elementwise.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_branches.h"
#include "server/compiler/lowering/lower_functions.h"
#include "server/compiler/lowering/lower_loops.h"
#include "server/compiler/lowering/lower_memory.h"
#include "server/compiler/lowering/lower_places.h"
#include "server/compiler/lowering/lower_reductions.h"
#include "server/compiler/lowering/lower_reports.h"
#include "server/compiler/lowering/lower_snodes.h"
#include "server/compiler/lowering/lower_struct_loops.h"
#include "server/compiler/lowering/lower_values.h"
#include "server/compiler/lowering/quant_writes.h"

namespace kiln {

namespace {

// Hints without effect here: that a kernel activates no cells of a storage is recorded with the
// storage (Storages::no_activate).
void Lower(LoweringContext&, CacheReadOnlyNode) {}
void Lower(LoweringContext&, NoActivateNode) {}

void Lower(LoweringContext& c, CheckpointBitNode node) {
  c.Unsupported(std::string("'") + FindNode(node.kind())->spelling + "'");
}

// Calls the handler that overload resolution finds for a view, and keeps the value it returns.
struct Handlers {
  LoweringContext& c;

  template <typename Node>
  void operator()(const Node& node) {
    if constexpr (std::is_void_v<decltype(Lower(c, node))>) {
      Lower(c, node);
    } else {
      c.values[node.id()] = Lower(c, node);
    }
  }
};

}  // namespace

void LowerNode(LoweringContext& c, NodeId id) {
  if (c.tensors->IsDeferred(id)) return;  // its users compute its elements
  VisitNode(id, c.node(id), Handlers{c});
}

void LowerBlock(LoweringContext& c, BlockId block) {
  ++c.depth;
  for (NodeId id : NodesIn(c.function, block)) {
    if (c.Terminated()) break;  // unreachable code
    c.Enter(id);
    c.writes->FlushBefore(c.node(id));
    LowerNode(c, id);
  }
  c.writes->Flush();
  --c.depth;
}

}  // namespace kiln
