#include "client_cpp/kernel_builder.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/op_table.h"

namespace kiln {
namespace {

using absl::StrCat;

constexpr int64_t kExactInDouble = int64_t{1} << 53;

template <typename To, typename From>
To BitsAs(From from) {
  To to = 0;
  static_assert(sizeof(To) >= sizeof(From), "bits are zero-extended");
  std::memcpy(&to, &from, sizeof from);
  return to;
}

uint64_t FloatBits(double value, Scalar type) {
  switch (type) {
    case proto::F16:
      return BitsAs<uint64_t>(static_cast<_Float16>(value));
    case proto::F32:
      return BitsAs<uint64_t>(static_cast<float>(value));
    default:
      return BitsAs<uint64_t>(value);
  }
}

double FloatOf(uint64_t bits, Scalar type) {
  if (type == proto::F64) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Truncates `value` to the width of `type`.
uint64_t WrapInt(uint64_t value, Scalar type) {
  const int bits = ScalarBits(type);
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

// The value of an integer constant, sign-extended to 64 bits if its type is signed.
int64_t SignedOf(uint64_t bits, Scalar type) {
  const int unused = 64 - ScalarBits(type);
  return IsSignedInt(type) ? static_cast<int64_t>(bits << unused) >> unused
                           : static_cast<int64_t>(bits);
}

int CountIndices(const proto::Storage& storage) {
  if (storage.has_dense()) return static_cast<int>(storage.dense().num_axes());
  if (storage.has_ndarray()) return static_cast<int>(storage.ndarray().ndim());
  return storage.tree().axes_size();
}

}  // namespace

KernelBuilder::KernelBuilder(DefaultTypes defaults) : defaults_(defaults) {
  current_.message = unit_.mutable_kernel()->mutable_body();
  current_.message->mutable_nodes()->Reserve(256);
  current_.spans = source_map_.mutable_node_span();
  BeginBody();
}

void KernelBuilder::BeginBody() {
  current_.message->add_nodes();
  current_.spans->Add(0);
  current_.node_block.push_back(0);
  Open(0, proto::NODE_NONE, NewBlock());
}

// --- Checks ----------------------------------------------------------------------

const proto::Node* KernelBuilder::FindAnyNode(NodeId id) const {
  const uint32_t number = FunctionOfNode(id);
  const int in_function = static_cast<int>(NodeInFunction(id));
  const proto::Function* function = current_.message;
  if (number != current_.number) {
    const proto::Kernel& kernel = unit_.kernel();
    if (number > static_cast<uint32_t>(kernel.functions_size())) return nullptr;
    function = number == 0 ? &kernel.body() : &kernel.functions(static_cast<int>(number - 1));
  }
  return in_function < function->nodes_size() ? &function->nodes(in_function) : nullptr;
}

TypeId KernelBuilder::TypeOf(NodeId id) const {
  const proto::Node* found = FindAnyNode(id);
  return found != nullptr ? found->type() : 0;
}

bool KernelBuilder::IsAddress(NodeId id) const {
  const proto::Node* found = FindAnyNode(id);
  const NodeInfo* info = found != nullptr ? FindNode(found->kind()) : nullptr;
  return info != nullptr && info->is_address;
}

absl::Status KernelBuilder::CheckVisible(NodeId id) const {
  const uint32_t in_function = NodeInFunction(id);
  if (in_function != 0 && FunctionOfNode(id) == current_.number &&
      in_function < current_.node_block.size() &&
      current_.block_open[current_.node_block[in_function]]) {
    return absl::OkStatus();
  }
  return Misuse("node ", id, " does not exist here");
}

absl::Status KernelBuilder::CheckValue(NodeId id) const {
  RETURN_IF_ERROR(CheckVisible(id));
  if (node(id).type() != 0 && FindNode(node(id).kind())->has_value) return absl::OkStatus();
  return Misuse("node ", id, " (", FindNode(node(id).kind())->spelling, ") is not a value");
}

absl::Status KernelBuilder::CheckAddress(NodeId id) const {
  RETURN_IF_ERROR(CheckVisible(id));
  const NodeInfo* info = FindNode(node(id).kind());
  if (info->is_address && node(id).type() != 0) return absl::OkStatus();
  return Misuse("node ", id, " (", info->spelling, ") is not an address");
}

absl::Status KernelBuilder::CheckType(TypeId type) const {
  if (type != 0 && type < types_.size()) return absl::OkStatus();
  return Misuse("type ", type, " does not exist");
}

absl::Status KernelBuilder::CheckParam(ParamId param, proto::Param::Kind kind) const {
  const proto::Function& owner =
      kind == proto::Param::PARAM_STORAGE ? unit_.kernel().body() : *current_.message;
  if (param < static_cast<uint32_t>(owner.params_size()) &&
      owner.params(static_cast<int>(param)).kind() == kind) {
    return absl::OkStatus();
  }
  return Misuse("parameter ", param, " is no ",
                kind == proto::Param::PARAM_VALUE     ? "value"
                : kind == proto::Param::PARAM_STORAGE ? "storage"
                                                      : "reference");
}

absl::Status KernelBuilder::CheckIntegers(absl::Span<const NodeId> indices) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    RETURN_IF_ERROR(CheckValue(indices[i]));
    const Type& type = types_[TypeOf(indices[i])];
    if (type.IsScalar() && !IsFloat(type.scalar)) continue;
    return Refuse(kIndicesMustBeIntegers, types_.Name(TypeOf(indices[i])), i);
  }
  return absl::OkStatus();
}

absl::Status KernelBuilder::CheckTensorIndices(TypeId tensor,
                                               absl::Span<const NodeId> indices) const {
  const Type& type = types_[tensor];
  if (!type.IsTensor() || type.shape.size() != indices.size()) {
    return Refuse(kNumberOfTensorIndices, types_.Name(tensor), type.shape.size(), indices.size());
  }
  RETURN_IF_ERROR(CheckIntegers(indices));
  for (size_t i = 0; i < indices.size(); ++i) {
    const proto::Node& index = node(indices[i]);
    if (index.kind() != proto::CONST) continue;
    const int64_t value = SignedOf(index.index(), types_[index.type()].scalar);
    if (value < 0 || value >= type.shape[i]) {
      return absl::OutOfRangeError(
          absl::Substitute(kTensorIndexOutOfRange, value, i, types_.Name(tensor)));
    }
  }
  return absl::OkStatus();
}

// --- Nodes -----------------------------------------------------------------------

NodeId KernelBuilder::AppendIn(uint32_t block, bool listed, proto::NodeKind kind, TypeId type,
                               absl::Span<const NodeId> operands) {
  const auto id = static_cast<uint32_t>(current_.node_block.size());
  proto::Node* made = current_.message->add_nodes();
  made->set_kind(kind);
  made->set_type(type);
  for (const NodeId operand : operands) made->add_operands(NodeInFunction(operand));
  current_.node_block.push_back(block);
  current_.spans->Add(current_.span);
  if (listed) current_.message->mutable_blocks(static_cast<int>(block))->add_nodes(id);
  return NodeNumber(current_.number, id);
}

NodeId KernelBuilder::Append(proto::NodeKind kind, TypeId type, absl::Span<const NodeId> operands) {
  const OpenBlock& current = current_.open.back();
  return AppendIn(current.block, !current.terminated, kind, type, operands);
}

// --- Parameters ------------------------------------------------------------------

ParamId KernelBuilder::AddValueParam(TypeId type) {
  if (!CheckType(type).ok()) type = 0;  // its uses then report it
  proto::Param* param = unit_.mutable_kernel()->mutable_body()->add_params();
  param->set_kind(proto::Param::PARAM_VALUE);
  param->set_type(type);
  params_.push_back({proto::Param::PARAM_VALUE, type, 0});
  return static_cast<ParamId>(params_.size() - 1);
}

ParamId KernelBuilder::AddStorageParam(const proto::Storage& storage) {
  const proto::Type& element = storage.element();
  TypeId type = 0;  // for an SNode itself
  if (element.scalar() != proto::SCALAR_NONE) {
    type = types_.GetTensor(element.scalar(), {element.shape().begin(), element.shape().end()});
  }
  proto::Param* param = unit_.mutable_kernel()->mutable_body()->add_params();
  param->set_kind(proto::Param::PARAM_STORAGE);
  param->set_storage(static_cast<uint32_t>(unit_.storages_size()));
  *unit_.add_storages() = storage;
  params_.push_back({proto::Param::PARAM_STORAGE, type, CountIndices(storage)});
  return static_cast<ParamId>(params_.size() - 1);
}

uint32_t KernelBuilder::AddTree(const proto::TreePart& tree) {
  *unit_.add_trees() = tree;
  return static_cast<uint32_t>(unit_.trees_size() - 1);
}

int KernelBuilder::NumIndices(ParamId storage) const {
  return storage < params_.size() ? params_[storage].num_indices : 0;
}

void KernelBuilder::SetReturnTypes(absl::Span<const TypeId> types) {
  proto::Function* body = unit_.mutable_kernel()->mutable_body();
  body->mutable_returns()->Clear();
  for (const TypeId type : types) body->add_returns(CheckType(type).ok() ? type : 0);
}

// --- Values ----------------------------------------------------------------------

NodeId KernelBuilder::Const(uint64_t bits, Scalar type) {
  const NodeId id = Append(proto::CONST, types_.GetScalar(type), {});
  mutable_node(id)->set_index(bits);
  return id;
}

NodeId KernelBuilder::ConstInt(int64_t value, Scalar type) {
  if (IsFloat(type)) return ConstFloat(static_cast<double>(value), type);
  if (type == proto::U1) return ConstBool(value != 0);
  return Const(WrapInt(static_cast<uint64_t>(value), type), type);
}

NodeId KernelBuilder::ConstUInt(uint64_t value, Scalar type) {
  if (IsFloat(type)) return ConstFloat(static_cast<double>(value), type);
  return ConstInt(static_cast<int64_t>(value), type);
}

NodeId KernelBuilder::ConstFloat(double value, Scalar type) {
  if (!IsFloat(type)) return ConstInt(static_cast<int64_t>(value), type);
  return Const(FloatBits(value, type), type);
}

NodeId KernelBuilder::ConstBool(bool value) { return Const(value ? 1 : 0, proto::U1); }

absl::StatusOr<NodeId> KernelBuilder::Param(ParamId param) {
  RETURN_IF_ERROR(CheckParam(param, proto::Param::PARAM_VALUE));
  const NodeId id =
      Append(proto::PARAM, current_.message->params(static_cast<int>(param)).type(), {});
  mutable_node(id)->set_index(param);
  return id;
}

NodeId KernelBuilder::FoldedCast(NodeId constant, Scalar to) {
  const uint64_t bits = node(constant).index();
  const Scalar from = types_[TypeOf(constant)].scalar;
  // Floats to integers and halves keep the compiler's rounding and range rules.
  if (from == proto::F16 || to == proto::F16) return 0;
  if (IsFloat(from)) return IsFloat(to) ? ConstFloat(FloatOf(bits, from), to) : 0;
  const int64_t value = SignedOf(bits, from);
  // Beyond 53 bits a conversion by way of double would round twice.
  if (IsFloat(to) && (value > kExactInDouble || value < -kExactInDouble)) return 0;
  if (from == proto::U64) return ConstUInt(bits, to);
  return ConstInt(value, to);
}

NodeId KernelBuilder::CastUnchecked(NodeId x, TypeId to) {
  if (TypeOf(x) == to) return x;
  if (node(x).kind() == proto::CONST && types_[to].IsScalar()) {
    if (const NodeId folded = FoldedCast(x, types_[to].scalar); folded != 0) return folded;
  }
  const NodeId id = Append(proto::CAST_TO, to, {x});
  mutable_node(id)->set_op(proto::OP_CAST);
  return id;
}

NodeId KernelBuilder::CastScalars(NodeId x, Scalar to) {
  const Type& type = types_[TypeOf(x)];
  if (type.scalar == to) return x;
  return CastUnchecked(x,
                       type.IsTensor() ? types_.GetTensor(to, type.shape) : types_.GetScalar(to));
}

absl::StatusOr<NodeId> KernelBuilder::Operation(proto::NodeKind kind, proto::Op op,
                                                absl::Span<const NodeId> operands) {
  absl::InlinedVector<TypeId, 3> operand_types;
  for (const NodeId operand : operands) {
    RETURN_IF_ERROR(CheckValue(operand));
    operand_types.push_back(TypeOf(operand));
  }
  ASSIGN_OR_RETURN(const OpTyping typing, TypeOp(op, operand_types, defaults_, &types_));
  absl::InlinedVector<NodeId, 3> casts;
  for (size_t i = 0; i < operands.size(); ++i) {
    casts.push_back(CastScalars(operands[i], typing.operand_scalars[i]));
  }
  const NodeId id = Append(kind, typing.result, casts);
  mutable_node(id)->set_op(op);
  return id;
}

absl::StatusOr<NodeId> KernelBuilder::Unary(proto::Op op, NodeId x) {
  return Operation(proto::UNARY, op, {x});
}

absl::StatusOr<NodeId> KernelBuilder::Binary(proto::Op op, NodeId a, NodeId b) {
  return Operation(proto::BINARY, op, {a, b});
}

absl::StatusOr<NodeId> KernelBuilder::Ternary(proto::Op op, NodeId c, NodeId a, NodeId b) {
  return Operation(proto::TERNARY, op, {c, a, b});
}

absl::StatusOr<NodeId> KernelBuilder::Cast(NodeId x, TypeId to) {
  RETURN_IF_ERROR(CheckValue(x));
  RETURN_IF_ERROR(CheckType(to));
  RETURN_IF_ERROR(CheckCast(TypeOf(x), to, types_));
  return CastUnchecked(x, to);
}

absl::StatusOr<NodeId> KernelBuilder::BitCast(NodeId x, TypeId to) {
  RETURN_IF_ERROR(CheckValue(x));
  RETURN_IF_ERROR(CheckType(to));
  RETURN_IF_ERROR(CheckBitCast(TypeOf(x), to, types_));
  if (TypeOf(x) == to) return x;
  const NodeId id = Append(proto::CAST_TO, to, {x});
  mutable_node(id)->set_op(proto::OP_BIT_CAST);
  return id;
}

absl::StatusOr<NodeId> KernelBuilder::MakeTensor(absl::Span<const NodeId> elements,
                                                 const std::vector<uint32_t>& shape) {
  Type type;
  type.shape = shape;
  if (shape.empty() || shape.size() > 2 || elements.empty() ||
      elements.size() > kMaxTensorElements || type.NumElements() != elements.size()) {
    return Misuse("a tensor of ", elements.size(), " elements cannot have the given shape");
  }
  for (const NodeId element : elements) {
    RETURN_IF_ERROR(CheckValue(element));
    const Type& element_type = types_[TypeOf(element)];
    if (!element_type.IsScalar()) {
      return Refuse(kElementIsNoScalar, types_.Name(TypeOf(element)));
    }
    type.scalar = type.scalar == proto::SCALAR_NONE ? element_type.scalar
                                                    : Promote(type.scalar, element_type.scalar);
  }
  std::vector<NodeId> casts;
  casts.reserve(elements.size());
  for (const NodeId element : elements) casts.push_back(CastScalars(element, type.scalar));
  return Append(proto::MAKE_TENSOR, types_.Get(type), casts);
}

std::vector<NodeId> KernelBuilder::IndexOperands(NodeId first, absl::Span<const NodeId> indices) {
  std::vector<NodeId> operands;
  operands.reserve(indices.size() + 1);
  if (first != 0) operands.push_back(first);
  for (const NodeId index : indices) {
    const bool is_bool = types_[TypeOf(index)].scalar == proto::U1;
    operands.push_back(is_bool ? CastScalars(index, proto::I32) : index);
  }
  return operands;
}

absl::StatusOr<NodeId> KernelBuilder::Extract(NodeId tensor, absl::Span<const NodeId> indices) {
  RETURN_IF_ERROR(CheckValue(tensor));
  RETURN_IF_ERROR(CheckTensorIndices(TypeOf(tensor), indices));
  const TypeId type = types_.GetScalar(types_[TypeOf(tensor)].scalar);
  return Append(proto::EXTRACT, type, IndexOperands(tensor, indices));
}

absl::StatusOr<NodeId> KernelBuilder::Pick(NodeId tensor, const std::vector<uint32_t>& shape,
                                           uint32_t first, absl::Span<const int32_t> strides) {
  RETURN_IF_ERROR(CheckValue(tensor));
  const Type from = types_[TypeOf(tensor)];
  if (!from.IsTensor() || shape.empty() || shape.size() > 2 || strides.size() != shape.size()) {
    return Misuse("cannot pick elements of '", types_.Name(TypeOf(tensor)), "'");
  }
  uint64_t elements = 1;
  int64_t lowest = first, last = first;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return Misuse("a dimension of extent 0");
    elements *= shape[d];
    const int64_t span = int64_t{strides[d]} * (int64_t{shape[d]} - 1);
    (span < 0 ? lowest : last) += span;
  }
  if (elements > kMaxTensorElements) {
    return Misuse("a tensor of ", elements, " elements; at most ", kMaxTensorElements);
  }
  if (lowest < 0 || last >= static_cast<int64_t>(from.NumElements())) {
    return Misuse("element ", lowest < 0 ? lowest : last, " of '", types_.Name(TypeOf(tensor)),
                  "'");
  }
  const NodeId id = Append(proto::PICK, types_.GetTensor(from.scalar, shape), {tensor});
  mutable_node(id)->add_attributes(first);
  for (const int32_t stride : strides) mutable_node(id)->add_attributes(stride);
  return id;
}

absl::StatusOr<NodeId> KernelBuilder::Reduce(proto::Op op, NodeId tensor) {
  RETURN_IF_ERROR(CheckValue(tensor));
  ASSIGN_OR_RETURN(const TypeId type, TypeReduce(op, TypeOf(tensor), defaults_, &types_));
  const NodeId id = Append(proto::REDUCE, type, {CastScalars(tensor, types_[type].scalar)});
  mutable_node(id)->set_op(op);
  return id;
}

absl::StatusOr<NodeId> KernelBuilder::MakeStruct(TypeId type, absl::Span<const NodeId> members) {
  RETURN_IF_ERROR(CheckType(type));
  const Type& target = types_[type];
  if (!target.IsStruct() || target.members.size() != members.size()) {
    return Misuse("'", types_.Name(type), "' has ", target.members.size(), " members, not ",
                  members.size());
  }
  for (size_t i = 0; i < members.size(); ++i) {
    RETURN_IF_ERROR(CheckValue(members[i]));
    RETURN_IF_ERROR(CheckCast(TypeOf(members[i]), target.members[i].second, types_));
  }
  std::vector<NodeId> casts;
  casts.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    casts.push_back(CastUnchecked(members[i], target.members[i].second));
  }
  return Append(proto::MAKE_STRUCT, type, casts);
}

absl::StatusOr<NodeId> KernelBuilder::GetMember(NodeId value, int member) {
  RETURN_IF_ERROR(CheckValue(value));
  const Type& type = types_[TypeOf(value)];
  if (member < 0 || member >= static_cast<int>(type.members.size())) {
    return Misuse("'", types_.Name(TypeOf(value)), "' has no member ", member);
  }
  const NodeId id = Append(proto::GET_MEMBER, type.members[member].second, {value});
  mutable_node(id)->set_index(static_cast<uint64_t>(member));
  return id;
}

NodeId KernelBuilder::Random(TypeId type) {
  if (type >= types_.size() || !types_[type].IsScalar()) return 0;
  return Append(proto::RANDOM, type, {});
}

absl::StatusOr<NodeId> KernelBuilder::Shape(ParamId storage, int axis) {
  RETURN_IF_ERROR(CheckParam(storage, proto::Param::PARAM_STORAGE));
  if (axis < 0 || axis >= params_[storage].num_indices) {
    return Misuse("axis ", axis, " does not exist: the parameter has ",
                  params_[storage].num_indices);
  }
  const NodeId id = Append(proto::SHAPE, types_.GetScalar(proto::I32), {});
  mutable_node(id)->set_index(storage);
  mutable_node(id)->add_attributes(axis);
  return id;
}

// --- Addresses and memory ----------------------------------------------------------

absl::StatusOr<NodeId> KernelBuilder::Local(TypeId type, NodeId init) {
  RETURN_IF_ERROR(CheckType(type));
  if (init == 0) return Append(proto::LOCAL, type, {});
  ASSIGN_OR_RETURN(const NodeId value, Cast(init, type));
  return Append(proto::LOCAL, type, {value});
}

absl::StatusOr<NodeId> KernelBuilder::Global(ParamId storage, absl::Span<const NodeId> indices) {
  RETURN_IF_ERROR(CheckParam(storage, proto::Param::PARAM_STORAGE));
  const ParamInfo& info = params_[storage];
  if (static_cast<int>(indices.size()) != info.num_indices) {
    return Refuse(kNumberOfFieldIndices, info.num_indices, indices.size());
  }
  RETURN_IF_ERROR(CheckIntegers(indices));
  const NodeId id = Append(proto::GLOBAL, info.type, IndexOperands(0, indices));
  mutable_node(id)->set_index(storage);
  return id;
}

absl::StatusOr<NodeId> KernelBuilder::Element(NodeId address, absl::Span<const NodeId> indices) {
  RETURN_IF_ERROR(CheckAddress(address));
  RETURN_IF_ERROR(CheckTensorIndices(TypeOf(address), indices));
  const TypeId type = types_.GetScalar(types_[TypeOf(address)].scalar);
  return Append(proto::ELEMENT, type, IndexOperands(address, indices));
}

absl::StatusOr<NodeId> KernelBuilder::Join(absl::Span<const NodeId> addresses,
                                           const std::vector<uint32_t>& shape) {
  Type type;
  type.shape = shape;
  if (shape.empty() || shape.size() > 2 || addresses.empty() ||
      addresses.size() > kMaxTensorElements || type.NumElements() != addresses.size()) {
    return Misuse("a tensor of ", addresses.size(), " elements cannot have the given shape");
  }
  for (const NodeId address : addresses) {
    RETURN_IF_ERROR(CheckAddress(address));
    if (!types_[TypeOf(address)].IsScalar() || TypeOf(address) != TypeOf(addresses[0])) {
      return Misuse("'", types_.Name(TypeOf(address)), "' is not the scalar of all elements");
    }
  }
  type.scalar = types_[TypeOf(addresses[0])].scalar;
  return Append(proto::JOIN, types_.Get(type), addresses);
}

absl::StatusOr<NodeId> KernelBuilder::MemberAddress(NodeId address, int member) {
  RETURN_IF_ERROR(CheckAddress(address));
  const Type& type = types_[TypeOf(address)];
  if (member < 0 || member >= static_cast<int>(type.members.size())) {
    return Misuse("'", types_.Name(TypeOf(address)), "' has no member ", member);
  }
  const NodeId id = Append(proto::MEMBER, type.members[member].second, {address});
  mutable_node(id)->set_index(static_cast<uint64_t>(member));
  return id;
}

absl::StatusOr<NodeId> KernelBuilder::Load(NodeId address) {
  RETURN_IF_ERROR(CheckAddress(address));
  return Append(proto::LOAD, TypeOf(address), {address});
}

absl::Status KernelBuilder::Store(NodeId address, NodeId value) {
  RETURN_IF_ERROR(CheckAddress(address));
  RETURN_IF_ERROR(CheckValue(value));
  const TypeId type = TypeOf(address);
  if (!CheckCast(TypeOf(value), type, types_).ok()) {
    return Refuse(kCannotAssign, types_.Name(TypeOf(value)), types_.Name(type));
  }
  Append(proto::STORE, 0, {address, CastUnchecked(value, type)});
  return absl::OkStatus();
}

absl::StatusOr<NodeId> KernelBuilder::Atomic(proto::Op op, NodeId address, NodeId value) {
  RETURN_IF_ERROR(CheckAddress(address));
  RETURN_IF_ERROR(CheckValue(value));
  const TypeId type = TypeOf(address);
  RETURN_IF_ERROR(CheckAtomic(op, type, types_));
  if (!CheckCast(TypeOf(value), type, types_).ok()) {
    return Refuse(kUnsupportedOperands, FindOp(op)->spelling,
                  StrCat("'", types_.Name(type), "' and '", types_.Name(TypeOf(value)), "'"));
  }
  const NodeId id = Append(proto::ATOMIC, type, {address, CastUnchecked(value, type)});
  mutable_node(id)->set_op(op);
  return id;
}

// --- Source positions, result ------------------------------------------------------

uint32_t KernelBuilder::AddFile(const std::string& path) {
  source_map_.add_files(path);
  return static_cast<uint32_t>(source_map_.files_size() - 1);
}

uint32_t KernelBuilder::AddName(const std::string& function) {
  source_map_.add_names(function);
  return static_cast<uint32_t>(source_map_.names_size() - 1);
}

uint32_t KernelBuilder::AddSpan(const proto::Span& span) {
  *source_map_.add_spans() = span;
  return static_cast<uint32_t>(source_map_.spans_size());
}

absl::Status KernelBuilder::CheckClosed() const {
  const std::vector<OpenBlock>& open = current_.open;
  if (open.size() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat(open.size() - 1, " blocks are open; the innermost is of ",
             FindNode(open.back().kind)->spelling, " node ", NodeInFunction(open.back().owner)));
}

absl::Status KernelBuilder::Finish(proto::CompileUnit* unit, proto::SourceMap* source_map,
                                   std::vector<ReachedTree>* reached) {
  RETURN_IF_ERROR(CheckClosed());
  if (!suspended_.empty()) {
    return absl::FailedPreconditionError(StrCat("function ", current_.number - 1, " is open"));
  }
  ASSIGN_OR_RETURN(std::vector<ReachedTree> trees,
                   PruneTrees(unit_.mutable_storages(), unit_.mutable_trees()));
  if (reached != nullptr) *reached = std::move(trees);
  types_.ToProto(unit_.mutable_kernel()->mutable_types());
  unit->mutable_kernel()->Swap(unit_.mutable_kernel());
  unit->mutable_storages()->Swap(unit_.mutable_storages());
  unit->mutable_trees()->Swap(unit_.mutable_trees());
  source_map->Swap(&source_map_);
  return absl::OkStatus();
}

}  // namespace kiln
