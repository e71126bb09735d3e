// The part of KernelBuilder that makes addresses, and reads and writes there.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client_cpp/kernel_builder.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"

namespace kiln {

absl::StatusOr<NodeNumber> KernelBuilder::Local(TypeId type, NodeNumber init) {
  RETURN_IF_ERROR(CheckType(type));
  // Without a value the variable holds zeros.
  if (!init) return Append(proto::LOCAL, type, {});
  ASSIGN_OR_RETURN(const NodeNumber value, Cast(init, type));
  return Append(proto::LOCAL, type, {value});
}

absl::StatusOr<NodeNumber> KernelBuilder::Global(ParamId storage,
                                                 absl::Span<const NodeNumber> indices) {
  RETURN_IF_ERROR(CheckParam(storage, proto::Param::PARAM_STORAGE));
  const ParamInfo& info = params_[storage];
  if (static_cast<int>(indices.size()) != info.num_indices) {
    return Refuse(kNumberOfFieldIndices, info.num_indices, indices.size());
  }
  RETURN_IF_ERROR(CheckIntegers(indices));
  const NodeNumber made = Append(proto::GLOBAL, info.type, IndexOperands({}, indices));
  mutable_node(made)->set_index(storage.number());
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Element(NodeNumber address,
                                                  absl::Span<const NodeNumber> indices) {
  RETURN_IF_ERROR(CheckAddress(address));
  RETURN_IF_ERROR(CheckTensorIndices(TypeOf(address), indices));
  const TypeId type = types_.GetScalar(types_[TypeOf(address)].scalar);
  return Append(proto::ELEMENT, type, IndexOperands(address, indices));
}

absl::StatusOr<NodeNumber> KernelBuilder::Join(absl::Span<const NodeNumber> addresses,
                                               const std::vector<uint32_t>& shape) {
  Type type;
  type.shape = shape;
  if (shape.empty() || shape.size() > 2 || addresses.empty() ||
      addresses.size() > kMaxTensorElements || type.NumElements() != addresses.size()) {
    return Misuse("a tensor of ", addresses.size(), " elements cannot have the given shape");
  }
  for (const NodeNumber address : addresses) {
    RETURN_IF_ERROR(CheckAddress(address));
    // No casts here: an address of another type is another place.
    if (!types_[TypeOf(address)].IsScalar() || TypeOf(address) != TypeOf(addresses[0])) {
      return Misuse("'", types_.Name(TypeOf(address)), "' is not the scalar of all elements");
    }
  }
  type.scalar = types_[TypeOf(addresses[0])].scalar;
  return Append(proto::JOIN, types_.Get(type), addresses);
}

absl::StatusOr<NodeNumber> KernelBuilder::MemberAddress(NodeNumber address, int member) {
  RETURN_IF_ERROR(CheckAddress(address));
  const Type& type = types_[TypeOf(address)];
  if (member < 0 || member >= static_cast<int>(type.members.size())) {
    return Misuse("'", types_.Name(TypeOf(address)), "' has no member ", member);
  }
  const NodeNumber made = Append(proto::MEMBER, type.members[member].second, {address});
  mutable_node(made)->set_index(static_cast<uint64_t>(member));
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Load(NodeNumber address) {
  RETURN_IF_ERROR(CheckAddress(address));
  const bool is_stopped = IsStopped(node(address));
  const std::string* text;
  if (const NodeNumber marks = MarksAt(address, &text); marks != NodeNumber() && !is_stopped) {
    const NodeNumber one = CastUnchecked(ConstFloat(1, proto::F32), TypeOf(marks));
    Append(proto::STORE, {}, {marks, one});
  }
  const NodeNumber value = Append(proto::LOAD, TypeOf(address), {address});
  return is_stopped ? StopGradient(value) : value;
}

absl::Status KernelBuilder::CheckOverwrites(ParamId of, ParamId marks, const std::string& text) {
  RETURN_IF_ERROR(CheckParam(of, proto::Param::PARAM_STORAGE));
  RETURN_IF_ERROR(CheckParam(marks, proto::Param::PARAM_STORAGE));
  if (params_[of].type != params_[marks].type || NumIndices(of) != NumIndices(marks)) {
    return Misuse("marks of another type or with other indices than what they mark");
  }
  marks_[of] = {marks, text};
  return absl::OkStatus();
}

NodeNumber KernelBuilder::MarksAt(NodeNumber address, const std::string** text) {
  if (marks_.empty()) return {};
  proto::Node at = node(address);
  if (at.kind() == proto::GLOBAL) {
    const auto found = marks_.find(ParamId(static_cast<uint32_t>(at.index())));
    if (found == marks_.end()) return {};
    at.set_index(found->second.first.number());
    *text = &found->second.second;
  } else if (at.kind() == proto::ELEMENT || at.kind() == proto::MEMBER) {
    const NodeNumber base = NumberOfNode(current_.id, NodeId(at.operands(0)));
    const NodeNumber marks = MarksAt(base, text);
    if (marks == NodeNumber()) return {};
    at.set_operands(0, NodeInFunction(marks).number());
  } else {
    return {};
  }
  const NodeNumber made = Append(at.kind(), TypeId(at.type()), {});
  *mutable_node(made) = std::move(at);
  return made;
}

absl::Status KernelBuilder::AssertUnmarked(NodeNumber address) {
  const std::string* text;
  const NodeNumber marks = MarksAt(address, &text);
  if (marks == NodeNumber()) return absl::OkStatus();
  NodeNumber mark = Append(proto::LOAD, TypeOf(marks), {marks});
  if (types_[TypeOf(mark)].IsTensor()) {
    ASSIGN_OR_RETURN(mark, Reduce(proto::OP_ADD, mark));
  }
  ASSIGN_OR_RETURN(const NodeNumber is_unmarked,
                   Binary(proto::OP_EQ, mark, ConstFloat(0, proto::F32)));
  proto::Format format;
  format.add_pieces()->set_text(*text);
  return Assert(is_unmarked, {}, format).status();
}

void KernelBuilder::StopGradientsOf(std::vector<ParamId> storages) {
  stopped_ = std::move(storages);
}

bool KernelBuilder::IsStopped(const proto::Node& address) const {
  if (stopped_.empty()) return false;
  const auto is_stopped = [this](uint32_t id) {
    return IsStopped(NodeAt(*current_.message, NodeId(id)));
  };
  switch (address.kind()) {
    case proto::GLOBAL:
      return absl::c_linear_search(stopped_, ParamId(address.index()));
    case proto::ELEMENT:
    case proto::MEMBER:
      return is_stopped(address.operands(0));
    case proto::JOIN:
      return absl::c_any_of(address.operands(), is_stopped);
    default:
      return false;
  }
}

absl::StatusOr<NodeNumber> KernelBuilder::StopGradient(NodeNumber value) {
  RETURN_IF_ERROR(CheckValue(value));
  return Append(proto::STOP_GRADIENT, TypeOf(value), {value});
}

absl::Status KernelBuilder::Store(NodeNumber address, NodeNumber value) {
  RETURN_IF_ERROR(CheckAddress(address));
  RETURN_IF_ERROR(CheckValue(value));
  const TypeId type = TypeOf(address);
  if (!CheckCast(TypeOf(value), type, types_).ok()) {
    return Refuse(kCannotAssign, types_.Name(TypeOf(value)), types_.Name(type));
  }
  RETURN_IF_ERROR(AssertUnmarked(address));
  Append(proto::STORE, {}, {address, CastUnchecked(value, type)});
  return absl::OkStatus();
}

absl::StatusOr<NodeNumber> KernelBuilder::Atomic(proto::Op op, NodeNumber address,
                                                 NodeNumber value) {
  RETURN_IF_ERROR(CheckAddress(address));
  RETURN_IF_ERROR(CheckValue(value));
  const TypeId type = TypeOf(address);
  RETURN_IF_ERROR(CheckAtomic(op, type, types_));
  if (!CheckCast(TypeOf(value), type, types_).ok()) {
    return Refuse(kUnsupportedOperands, FindOp(op)->spelling,
                  absl::StrCat("'", types_.Name(type), "' and '", types_.Name(TypeOf(value)), "'"));
  }
  RETURN_IF_ERROR(AssertUnmarked(address));
  const NodeNumber made = Append(proto::ATOMIC, type, {address, CastUnchecked(value, type)});
  mutable_node(made)->set_op(op);
  return made;
}

}  // namespace kiln
