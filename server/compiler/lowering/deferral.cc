#include "server/compiler/lowering/deferral.h"

#include "common/language/kernel_parts.h"
#include "llvm/ADT/STLExtras.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

namespace {

// Whether a node may change what a deferred load has yet to read. Nodes with blocks may hold any
// other.
bool WritesMemory(const proto::Node& node) {
  switch (node.kind()) {
    case proto::STORE:
    case proto::ATOMIC:
    case proto::CALL:
    case proto::SIMT:  // other threads write before a barrier ends
    case proto::SNODE_APPEND:
    case proto::SNODE_DEACTIVATE:
      return true;
    default:
      return node.blocks_size() > 0;
  }
}

}  // namespace

bool IsElementwise(const proto::Node& node) {
  switch (node.kind()) {
    case proto::UNARY:
    case proto::TERNARY:
    case proto::CAST_TO:
    case proto::PICK:
      return true;
    default:
      return node.kind() == proto::BINARY && node.op() != proto::OP_MATMUL;
  }
}

Deferral::Deferral(const proto::Function& function, const TypeTable& types, bool is_body)
    : function_(function),
      types_(types),
      is_body_(is_body),
      deferred_(function.nodes_size()),
      made_(function.nodes_size()),
      uses_(function.nodes_size()) {
  if (function.blocks_size() > 0) Visit(kFunctionBody);
}

// A node that may be deferred is, until a use shows that it must not be.
void Deferral::Visit(BlockId block) {
  for (NodeId id : NodesIn(function_, block)) {
    const proto::Node& node = NodeAt(function_, id);
    const Position here{block, writes_};
    for (NodeId operand : NodeIds(node.operands())) Use(operand, here);
    if (IsLarge(types_[TypeId(node.type())])) {
      // Only the kernel's parameters are in argument slots; a function's are arrays of its callers.
      const bool is_argument = node.kind() == proto::PARAM && is_body_;
      deferred_[id] = node.kind() == proto::LOAD || is_argument || IsElementwise(node);
      made_[id] = here;
    }
    if (WritesMemory(node)) ++writes_;
    for (BlockId inner : IdList<BlockId>(node.blocks())) Visit(inner);
  }
}

void Deferral::Use(NodeId operand, const Position& here) {
  ++uses_[operand];
  if (!deferred_[operand]) return;
  const proto::NodeKind kind = NodeAt(function_, operand).kind();
  if (kind == proto::PARAM) return;  // never changes
  const Position& made = made_[operand];
  // Loading again costs no more than loading from an array would; computing again does.
  const bool unchanged = made.block == here.block && made.writes == here.writes;
  const bool once = kind == proto::LOAD || uses_[operand] == 1;
  if (!unchanged || !once) deferred_[operand] = false;
}

bool Deferral::HasPick(NodeId id) const { return deferred_[id] && ComputesPick(id); }

bool Deferral::ComputesPick(NodeId id) const {
  const proto::Node& node = NodeAt(function_, id);
  if (node.kind() == proto::PICK) return true;
  return IsElementwise(node) &&
         llvm::any_of(NodeIds(node.operands()), [&](NodeId operand) { return HasPick(operand); });
}

}  // namespace kiln
