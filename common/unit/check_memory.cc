// The nodes that name, read or write memory: variables, elements, storages and SNodes.
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/type_rules.h"
#include "common/layout/layout.h"
#include "common/unit/check_node.h"

namespace kiln {

absl::Status NodeChecker::Check(ParamNode n) const {
  return CheckOwnParam(n.id(), n.param(), proto::Param::PARAM_VALUE);
}

absl::Status NodeChecker::Check(ReferenceNode n) const {
  return CheckOwnParam(n.id(), n.param(), proto::Param::PARAM_REFERENCE);
}

absl::Status NodeChecker::Check(LocalNode n) const {
  return n.operands().empty() ? absl::OkStatus() : CheckTypedAt(n.id(), 0, n.type());
}

absl::Status NodeChecker::Check(SharedArrayNode n) const {
  if (!types()[n.type()].IsTensor()) return Bad(n.id(), "is not a tensor");
  // It would belong to no task.
  return IsAtTopOfKernel() ? Bad(n.id(), "outside a loop") : absl::OkStatus();
}

absl::Status NodeChecker::Check(ElementNode n) const {
  RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
  return CheckTensorIndices(n.id(), n.indices(), type_of(n.base()));
}

absl::Status NodeChecker::Check(MemberNode n) const {
  RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
  return CheckMember(n.id(), type_of(n.base()), n.member());
}

absl::Status NodeChecker::Check(JoinNode n) const {
  const NodeId id = n.id();
  const Type& type = types()[n.type()];
  if (!type.IsTensor() || type.NumElements() != n.parts().size()) {
    return Bad(id, n.parts().size(), " addresses for '", types().Name(n.type()), "'");
  }
  for (int i = 0; i < static_cast<int>(n.parts().size()); ++i) {
    RETURN_IF_ERROR(CheckAddressAt(id, i));
    // Each part is one element: tensors of tensors do not exist.
    if (type_of(n.parts()[i]) != ScalarId(type.scalar)) {
      return Bad(id, "operand ", i, " is the address of '", types().Name(type_of(n.parts()[i])),
                 "'");
    }
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::Check(LoadNode n) const {
  RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
  return CheckResult(n.id(), type_of(n.address()));
}

absl::Status NodeChecker::Check(StoreNode n) const {
  RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
  return CheckTypedAt(n.id(), 1, type_of(n.address()));
}

absl::Status NodeChecker::Check(AtomicNode n) const {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckAddressAt(id, 0));
  const TypeId type = type_of(n.address());
  if (absl::Status status = CheckAtomic(n.op(), type, types()); !status.ok()) {
    return Bad(id, status.message());
  }
  RETURN_IF_ERROR(CheckTypedAt(id, 1, type));
  return CheckResult(id, type);
}

absl::Status NodeChecker::CheckIndices(NodeId id, ParamId param, NodeIds indices) const {
  RETURN_IF_ERROR(CheckStorageParam(id, param));
  const int axes = StorageIndices(param);
  if (static_cast<int>(indices.size()) != axes) {
    return Bad(id, indices.size(), " indices, not ", axes);
  }
  return CheckIntegers(id, 0, axes);
}

absl::Status NodeChecker::Check(GlobalNode n) const {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckIndices(id, n.param(), n.indices()));
  return CheckResult(id, facts().element_type[StorageNumber(n.param())]);
}

absl::Status NodeChecker::Check(ShapeNode n) const {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckStorageParam(id, n.param()));
  if (node(id).attributes_size() != 1 || n.axis() < 0 || n.axis() >= StorageIndices(n.param())) {
    return Bad(id, "no such axis");
  }
  return CheckResult(id, ScalarId(proto::I32));
}

absl::Status NodeChecker::Check(CheckpointBitNode n) const {
  RETURN_IF_ERROR(CheckStorageParam(n.id(), n.param()));
  return CheckIntegers(n.id(), 0, static_cast<int>(n.indices().size()));
}

absl::Status NodeChecker::CheckSNodeOp(NodeId id, ParamId param, NodeIds indices,
                                       SNodeOp op) const {
  RETURN_IF_ERROR(CheckStorageParam(id, param));
  const proto::Storage& storage = StorageOf(param);
  if (!storage.has_tree()) return Bad(id, "parameter ", param.number(), " is not an SNode");
  const proto::TreePart& tree = facts().unit.trees(static_cast<int>(storage.tree().tree()));
  const SNodeFacts& kind =
      *FindSNodeKind(tree.nodes(static_cast<int>(storage.tree().node())).kind());
  if (!Accepts(kind, op)) return Bad(id, "a ", kind.name, " SNode does not have this op");
  // Ops on a whole list take the indices of its container.
  const int count = NamesContainer(kind, op)
                        ? static_cast<int>(IndicesAbove(tree, storage.tree()).size())
                        : storage.tree().axes_size();
  if (static_cast<int>(indices.size()) != count) {
    return Bad(id, indices.size(), " indices, not ", count);
  }
  RETURN_IF_ERROR(CheckIntegers(id, 0, count));
  switch (op) {
    case SNodeOp::kLength:
    case SNodeOp::kAppend:
      return CheckResult(id, ScalarId(proto::I32));
    case SNodeOp::kIsActive:
      return CheckResult(id, ScalarId(proto::U1));
    // Statements: their results are not used, so they have no type.
    case SNodeOp::kActivate:
    case SNodeOp::kDeactivate:
      break;
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::Check(SNodeAddressNode n) const {
  RETURN_IF_ERROR(CheckIndices(n.id(), n.param(), n.indices()));
  if (!facts().element_type[StorageNumber(n.param())]) {
    return Bad(n.id(), "an SNode itself has no elements");
  }
  return CheckResult(n.id(), ScalarId(proto::U64));
}

}  // namespace kiln
