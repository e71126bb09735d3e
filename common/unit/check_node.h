// The check of a single node by the rules of its kind; part of CheckUnit
// (common/unit/check_unit.h).
#ifndef KILN_COMMON_UNIT_CHECK_NODE_H_
#define KILN_COMMON_UNIT_CHECK_NODE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/language/ids.h"
#include "common/language/node_views.h"
#include "common/layout/snode_kinds.h"
#include "common/unit/function_checks.h"
#include "kiln/proto/kernel.pb.h"

namespace kiln {

// Checks the nodes of one function in program order.
class NodeChecker : public FunctionChecks {
 public:
  using FunctionChecks::FunctionChecks;

  // A statement that contains the node at hand.
  struct Scope {
    NodeId owner;
    proto::NodeKind kind;
    bool parallel;
  };
  void EnterScope(Scope scope) { scopes_.push_back(scope); }
  void LeaveScope() { scopes_.pop_back(); }

  // Requires: the node has as many operands and blocks as its kind takes, and its type exists. Its
  // operands are nodes made before it; only the loop of a loop index may be any number. The scopes
  // are those around the node.
  absl::Status CheckNode(NodeId id);

 private:
  // One for each kind. CheckNode does not build while one is missing.

  // check_values.cc
  absl::Status Check(ConstNode n) const;
  absl::Status Check(UnaryNode n) { return CheckOperation(n); }
  absl::Status Check(BinaryNode n) { return CheckOperation(n); }
  absl::Status Check(TernaryNode n) { return CheckOperation(n); }
  absl::Status Check(CastToNode n) const;
  absl::Status Check(ReduceNode n);
  absl::Status Check(RandomNode n) const;
  absl::Status Check(SimtNode n) const;
  absl::Status Check(MakeTensorNode n) const;
  absl::Status Check(PickNode n) const;
  absl::Status Check(ExtractNode n) const;
  absl::Status Check(MakeStructNode n) const;
  absl::Status Check(GetMemberNode n) const;
  absl::Status Check(AssumeInRangeNode n) const;
  absl::Status Check(LoopUniqueNode n) const;
  absl::Status Check(StopGradientNode n) const { return CheckSameValue(n.id(), n.value()); }

  // check_memory.cc
  absl::Status Check(ParamNode n) const;
  absl::Status Check(ReferenceNode n) const;
  absl::Status Check(LocalNode n) const;
  absl::Status Check(SharedArrayNode n) const;
  absl::Status Check(ElementNode n) const;
  absl::Status Check(MemberNode n) const;
  absl::Status Check(JoinNode n) const;
  absl::Status Check(LoadNode n) const;
  absl::Status Check(StoreNode n) const;
  absl::Status Check(AtomicNode n) const;
  absl::Status Check(GlobalNode n) const;
  absl::Status Check(ShapeNode n) const;
  absl::Status Check(BlockLocalNode n) const { return CheckStorageParams(n.id(), n.params()); }
  absl::Status Check(CacheReadOnlyNode n) const { return CheckStorageParams(n.id(), n.params()); }
  absl::Status Check(NoActivateNode n) const { return CheckStorageParam(n.id(), n.param()); }
  absl::Status Check(CheckpointBitNode n) const;
  absl::Status Check(SNodeActivateNode n) const { return CheckSNodeOp(n, SNodeOp::kActivate); }
  absl::Status Check(SNodeDeactivateNode n) const { return CheckSNodeOp(n, SNodeOp::kDeactivate); }
  absl::Status Check(SNodeIsActiveNode n) const { return CheckSNodeOp(n, SNodeOp::kIsActive); }
  absl::Status Check(SNodeLengthNode n) const { return CheckSNodeOp(n, SNodeOp::kLength); }
  absl::Status Check(SNodeAppendNode n) const { return CheckSNodeOp(n, SNodeOp::kAppend); }
  absl::Status Check(SNodeAddressNode n) const;

  // check_control.cc
  absl::Status Check(RangeForNode n) const;
  absl::Status Check(StructForNode n) const;
  absl::Status Check(WhileNode) const { return absl::OkStatus(); }
  absl::Status Check(LoopIndexNode n) const;
  absl::Status Check(IfNode n) const;
  absl::Status Check(ChooseNode n) const;
  absl::Status Check(YieldNode n) const;
  absl::Status Check(BreakNode n) const { return CheckJump(n); }
  absl::Status Check(ContinueNode n) const { return CheckJump(n); }
  absl::Status Check(ReturnNode n) const;
  absl::Status Check(CallNode n) const;
  absl::Status Check(PrintNode n) const { return CheckValuesFrom(n.id(), 0); }
  absl::Status Check(AssertNode n) const;

  // What several kinds share.
  absl::Status CheckOperation(const NodeView& n);
  // Of a hint: it is the value `value`, its first operand.
  absl::Status CheckSameValue(NodeId id, NodeId value) const;
  // The operands are one integer for each axis of the storage `param`.
  absl::Status CheckIndices(NodeId id, ParamId param, NodeIds indices) const;
  template <typename SNodeNode>
  absl::Status CheckSNodeOp(const SNodeNode& n, SNodeOp op) const {
    return CheckSNodeOp(n.id(), n.param(), n.indices(), op);
  }
  // The SNode's kind has the operation, which takes so many indices and has a result of the type.
  absl::Status CheckSNodeOp(NodeId id, ParamId param, NodeIds indices, SNodeOp op) const;
  absl::Status CheckConfig(NodeId id, uint64_t config) const;
  absl::Status CheckJump(const NodeView& n) const;

  // Nodes at the top of the kernel are in no task.
  bool IsAtTopOfKernel() const { return function_id() == kKernelBody && scopes_.empty(); }

  std::vector<Scope> scopes_;  // outermost first
};

}  // namespace kiln

#endif  // KILN_COMMON_UNIT_CHECK_NODE_H_
