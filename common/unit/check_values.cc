// The nodes that compute a value from values.
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/op_table.h"
#include "common/language/simt_ops.h"
#include "common/language/type_rules.h"
#include "common/unit/check_node.h"

namespace kiln {

absl::Status NodeChecker::Check(ConstNode n) const {
  const Type& type = types()[n.type()];
  if (!type.IsScalar()) return Bad(n.id(), "is not a scalar");
  const int bits = ScalarBits(type.scalar);
  // Equal constants must have equal bits, or equal kernels would have different keys.
  if (bits < 64 && n.bits() >> bits != 0) return Bad(n.id(), "has bits beyond its type");
  return absl::OkStatus();
}

absl::Status NodeChecker::CheckOperation(const NodeView& n) {
  const NodeId id = n.id();
  const OpInfo* info = FindOp(n.op());
  // Casts and atomics have node kinds of their own, with other rules.
  const int count = static_cast<int>(n.operands().size());
  if (info == nullptr || info->arity != count || info->family == proto::FAMILY_CAST ||
      info->family == proto::FAMILY_ATOMIC) {
    return Bad(id, "op ", n.op(), " does not fit");
  }
  absl::InlinedVector<TypeId, 3> operands;
  for (int i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckValueAt(id, i));
    operands.push_back(type_of(n.operands()[i]));
  }
  // The builder's own rules: a unit of another client must be typed exactly as ours would be.
  absl::StatusOr<OpTyping> typing = TypeOp(n.op(), operands, facts().defaults, &types());
  if (!typing.ok()) return Bad(id, typing.status().message());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (types()[operands[i]].scalar != typing->operand_scalars[i]) {
      return Bad(id, "operand ", i, " must be cast to ", ScalarName(typing->operand_scalars[i]));
    }
  }
  return CheckResult(id, typing->result);
}

absl::Status NodeChecker::Check(CastToNode n) const {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckValueAt(id, 0));
  if (!n.type()) return Bad(id, "to no type");
  const TypeId from = type_of(n.value());
  absl::Status status;
  if (n.op() == proto::OP_CAST) {
    status = CheckCast(from, n.type(), types());
  } else if (n.op() == proto::OP_BIT_CAST) {
    status = CheckBitCast(from, n.type(), types());
  } else {
    return Bad(id, "op ", n.op(), " is not a cast");
  }
  return status.ok() ? status : Bad(id, status.message());
}

absl::Status NodeChecker::Check(ReduceNode n) {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckValueAt(id, 0));
  absl::StatusOr<TypeId> type = TypeReduce(n.op(), type_of(n.tensor()), facts().defaults, &types());
  if (!type.ok()) return Bad(id, type.status().message());
  // The result's type decides in which type elements are combined.
  if (*type != ScalarId(types()[type_of(n.tensor())].scalar)) {
    return Bad(id, "the operand must be cast to ", types().Name(*type));
  }
  return CheckResult(id, *type);
}

absl::Status NodeChecker::Check(RandomNode n) const {
  return types()[n.type()].IsScalar() ? absl::OkStatus() : Bad(n.id(), "is not a scalar");
}

absl::Status NodeChecker::Check(SimtNode n) const {
  const NodeId id = n.id();
  if (n.operation() >= kNumSimtOps) return Bad(id, "operation ", n.operation(), " does not exist");
  const SimtFacts& facts = kSimtOps[n.operation()];
  if (static_cast<int>(n.values().size()) != facts.num_operands) {
    return Bad(id, n.values().size(), " operands");
  }
  for (int i = 0; i < facts.num_operands; ++i) {
    RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(facts.operands[i])));
  }
  if (facts.result != proto::SCALAR_NONE) return CheckResult(id, ScalarId(facts.result));
  return n.type() ? Bad(id, "has no value") : absl::OkStatus();
}

absl::Status NodeChecker::Check(MakeTensorNode n) const {
  const NodeId id = n.id();
  const Type& type = types()[n.type()];
  if (!type.IsTensor() || type.NumElements() != n.elements().size()) {
    return Bad(id, n.elements().size(), " elements for '", types().Name(n.type()), "'");
  }
  for (int i = 0; i < static_cast<int>(n.elements().size()); ++i) {
    RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(type.scalar)));
  }
  return absl::OkStatus();
}

// Checks that every element that the attributes select is within the operand.
absl::Status NodeChecker::Check(PickNode n) const {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckValueAt(id, 0));
  const Type& from = types()[type_of(n.tensor())];
  const Type& to = types()[n.type()];
  if (!from.IsTensor() || !to.IsTensor() || from.scalar != to.scalar) {
    return Bad(id, "from '", types().Name(type_of(n.tensor())), "' to '", types().Name(n.type()),
               "'");
  }
  const auto& attributes = node(id).attributes();
  if (attributes.size() != static_cast<int>(to.shape.size()) + 1) {
    return Bad(id, attributes.size(), " attributes");
  }
  // The elements selected by a0 + sum of i_d * a_d: each stride adds its full span to the upper
  // end if positive, to the lower end if negative. The limit on attributes prevents overflow.
  int64_t lowest = 0, last = 0;
  for (int d = 0; d < attributes.size(); ++d) {
    constexpr int64_t kMost = kMaxTensorElements;
    if (attributes[d] < -kMost || attributes[d] > kMost) {
      return Bad(id, "attribute ", attributes[d]);
    }
    // Attribute 0 is the first element, the others are strides.
    const int64_t span = attributes[d] * (d == 0 ? 1 : int64_t{to.shape[d - 1]} - 1);
    if (d == 0 || span < 0) lowest += span;
    if (d == 0 || span > 0) last += span;
  }
  if (lowest >= 0 && last < static_cast<int64_t>(from.NumElements())) return absl::OkStatus();
  return Bad(id, "elements ", lowest, " to ", last, " of '", types().Name(type_of(n.tensor())),
             "'");
}

absl::Status NodeChecker::Check(ExtractNode n) const {
  RETURN_IF_ERROR(CheckValueAt(n.id(), 0));
  return CheckTensorIndices(n.id(), n.indices(), type_of(n.tensor()));
}

absl::Status NodeChecker::Check(MakeStructNode n) const {
  const NodeId id = n.id();
  const Type& type = types()[n.type()];
  if (!type.IsStruct() || type.members.size() != n.members().size()) {
    return Bad(id, n.members().size(), " members for '", types().Name(n.type()), "'");
  }
  for (int i = 0; i < static_cast<int>(n.members().size()); ++i) {
    RETURN_IF_ERROR(CheckTypedAt(id, i, type.members[i].second));
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::Check(GetMemberNode n) const {
  RETURN_IF_ERROR(CheckValueAt(n.id(), 0));
  return CheckMember(n.id(), type_of(n.value()), n.member());
}

absl::Status NodeChecker::CheckSameValue(NodeId id, NodeId value) const {
  RETURN_IF_ERROR(CheckValueAt(id, 0));
  return CheckResult(id, type_of(value));
}

absl::Status NodeChecker::Check(AssumeInRangeNode n) const {
  if (node(n.id()).attributes_size() != 2) return Bad(n.id(), "needs two attributes");
  RETURN_IF_ERROR(CheckIntegers(n.id(), 0, 2));
  return CheckResult(n.id(), type_of(n.value()));
}

absl::Status NodeChecker::Check(LoopUniqueNode n) const {
  RETURN_IF_ERROR(CheckStorageParams(n.id(), n.params()));
  return CheckSameValue(n.id(), n.value());
}

}  // namespace kiln
