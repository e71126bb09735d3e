#include "client_cpp/kernel_builder.h"

#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"

namespace kiln {
namespace {

using absl::StrCat;

// Integers up to here are exact as f64.
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
// Constants of equal value then have equal bits, and units equal keys.
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
  // Most kernels have fewer: the list then never moves.
  current_.message->mutable_nodes()->Reserve(256);
  current_.spans = source_map_.mutable_node_span();
  BeginBody();
}

void KernelBuilder::BeginBody() {
  // Node 0 is "no node", so that 0 can stand for a missing operand.
  current_.message->add_nodes();
  current_.spans->Add(0);
  const BlockId body = NewBlock();
  current_.node_block.Add(body);
  Open(NodeNumber(), proto::NODE_NONE, body, body);
}

// --- Checks ----------------------------------------------------------------------

// Also nodes of functions that are closed: a front end may ask for the type of anything it has
// made.
const proto::Node* KernelBuilder::FindAnyNode(NodeNumber number) const {
  const FunctionId of = FunctionOfNode(number);
  if (!HasFunction(unit_.kernel(), of)) return nullptr;
  const proto::Function& function = FunctionAt(unit_.kernel(), of);
  const NodeId id = NodeInFunction(number);
  return id.number() < static_cast<uint32_t>(function.nodes_size()) ? &NodeAt(function, id)
                                                                    : nullptr;
}

// No type, and no error, for what does not exist: the caller's next call reports it.
TypeId KernelBuilder::TypeOf(NodeNumber node) const {
  const proto::Node* found = FindAnyNode(node);
  return found != nullptr ? TypeId(found->type()) : TypeId();
}

bool KernelBuilder::IsAddress(NodeNumber node) const {
  const proto::Node* found = FindAnyNode(node);
  const NodeInfo* info = found != nullptr ? FindNode(found->kind()) : nullptr;
  return info != nullptr && info->is_address;
}

absl::Status KernelBuilder::CheckVisible(NodeNumber number) const {
  const NodeId id = NodeInFunction(number);
  // A node is usable while its block is open: what a closed branch computed may not have run.
  if (id && FunctionOfNode(number) == current_.id && current_.node_block.Has(id) &&
      current_.block_open[current_.node_block[id]]) {
    return absl::OkStatus();
  }
  // Misuse is a mistake of a front end, Refuse one of the user's program.
  return Misuse("node ", number.number(), " does not exist here");
}

absl::Status KernelBuilder::CheckValue(NodeNumber number) const {
  RETURN_IF_ERROR(CheckVisible(number));
  const NodeInfo* info = FindNode(node(number).kind());
  if (info->has_value && TypeOf(number)) return absl::OkStatus();
  return Misuse("node ", number.number(), " (", info->spelling, ") is not a value");
}

absl::Status KernelBuilder::CheckAddress(NodeNumber number) const {
  RETURN_IF_ERROR(CheckVisible(number));
  const NodeInfo* info = FindNode(node(number).kind());
  if (info->is_address && TypeOf(number)) return absl::OkStatus();
  return Misuse("node ", number.number(), " (", info->spelling, ") is not an address");
}

absl::Status KernelBuilder::CheckType(TypeId type) const {
  if (type && types_.Has(type)) return absl::OkStatus();
  return Misuse("type ", type.number(), " does not exist");
}

absl::Status KernelBuilder::CheckParam(ParamId param, proto::Param::Kind kind) const {
  const proto::Function& owner =
      // Storages belong to the kernel, and its functions use them by number.
      kind == proto::Param::PARAM_STORAGE ? unit_.kernel().body() : *current_.message;
  if (param.number() < static_cast<uint32_t>(owner.params_size()) &&
      ParamAt(owner, param).kind() == kind) {
    return absl::OkStatus();
  }
  return Misuse("parameter ", param.number(), " is no ",
                kind == proto::Param::PARAM_VALUE     ? "value"
                : kind == proto::Param::PARAM_STORAGE ? "storage"
                                                      : "reference");
}

absl::Status KernelBuilder::CheckIntegers(absl::Span<const NodeNumber> indices) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    RETURN_IF_ERROR(CheckValue(indices[i]));
    const Type& type = types_[TypeOf(indices[i])];
    if (type.IsScalar() && !IsFloat(type.scalar)) continue;
    return Refuse(kIndicesMustBeIntegers, types_.Name(TypeOf(indices[i])), i);
  }
  return absl::OkStatus();
}

absl::Status KernelBuilder::CheckTensorIndices(TypeId tensor,
                                               absl::Span<const NodeNumber> indices) const {
  const Type& type = types_[tensor];
  if (!type.IsTensor() || type.shape.size() != indices.size()) {
    return Refuse(kNumberOfTensorIndices, types_.Name(tensor), type.shape.size(), indices.size());
  }
  RETURN_IF_ERROR(CheckIntegers(indices));
  for (size_t i = 0; i < indices.size(); ++i) {
    if (node(indices[i]).kind() != proto::CONST) continue;
    const auto index = As<ConstNode>(indices[i]);
    const int64_t value = SignedOf(index.bits(), types_[index.type()].scalar);
    if (value < 0 || value >= type.shape[i]) {
      // A code of its own: programs know it as another kind of error.
      return absl::OutOfRangeError(
          absl::Substitute(kTensorIndexOutOfRange, value, i, types_.Name(tensor)));
    }
  }
  return absl::OkStatus();
}

// --- Nodes -----------------------------------------------------------------------

NodeNumber KernelBuilder::AppendIn(BlockId block, bool listed, proto::NodeKind kind, TypeId type,
                                   absl::Span<const NodeNumber> operands) {
  const NodeId id = current_.node_block.Add(block);
  proto::Node* made = current_.message->add_nodes();
  made->set_kind(kind);
  made->set_type(type.number());
  // In the unit, numbers count within a function: so equal functions have equal bytes, wherever
  // they are.
  for (const NodeNumber operand : operands) made->add_operands(NodeInFunction(operand).number());
  current_.spans->Add(current_.span);
  // After a jump, nodes are made but not listed: they never run, and the front end need not know
  // that.
  if (listed) current_.message->mutable_blocks(block.number())->add_nodes(id.number());
  return NumberOfNode(current_.id, id);
}

NodeNumber KernelBuilder::Append(proto::NodeKind kind, TypeId type,
                                 absl::Span<const NodeNumber> operands) {
  // New nodes belong to the innermost open block.
  const OpenBlock& current = current_.open.back();
  return AppendIn(current.block(), !current.terminated, kind, type, operands);
}

// --- Parameters ------------------------------------------------------------------

ParamId KernelBuilder::AddValueParam(TypeId type) {
  if (!CheckType(type).ok()) type = TypeId();  // its uses then report it
  proto::Param* param = unit_.mutable_kernel()->mutable_body()->add_params();
  param->set_kind(proto::Param::PARAM_VALUE);
  param->set_type(type.number());
  return params_.Add({proto::Param::PARAM_VALUE, type, 0});
}

ParamId KernelBuilder::AddStorageParam(const proto::Storage& storage) {
  const proto::Type& element = storage.element();
  TypeId type;  // none for an SNode itself
  if (element.scalar() != proto::SCALAR_NONE) {
    type = types_.GetTensor(element.scalar(), {element.shape().begin(), element.shape().end()});
  }
  proto::Param* param = unit_.mutable_kernel()->mutable_body()->add_params();
  param->set_kind(proto::Param::PARAM_STORAGE);
  // The number that the storage gets on the next line.
  param->set_storage(static_cast<uint32_t>(unit_.storages_size()));
  *unit_.add_storages() = storage;
  return params_.Add({proto::Param::PARAM_STORAGE, type, CountIndices(storage)});
}

void KernelBuilder::Differentiate(proto::AutodiffMode mode) {
  unit_.mutable_kernel()->add_autodiff(mode);
}

absl::StatusOr<std::pair<proto::Storage*, uint32_t>> KernelBuilder::Companions(ParamId of,
                                                                               ParamId companion) {
  RETURN_IF_ERROR(CheckParam(of, proto::Param::PARAM_STORAGE));
  RETURN_IF_ERROR(CheckParam(companion, proto::Param::PARAM_STORAGE));
  const proto::Function& body = unit_.kernel().body();
  const auto storage = [&](ParamId param) {
    return body.params(static_cast<int>(param.number())).storage();
  };
  return std::make_pair(unit_.mutable_storages(static_cast<int>(storage(of))),
                        storage(companion) + 1);
}

absl::Status KernelBuilder::SetGradient(ParamId of, ParamId gradient) {
  ASSIGN_OR_RETURN(const auto found, Companions(of, gradient));
  found.first->set_grad(found.second);
  return absl::OkStatus();
}

absl::Status KernelBuilder::SetDual(ParamId of, ParamId dual) {
  ASSIGN_OR_RETURN(const auto found, Companions(of, dual));
  found.first->set_dual(found.second);
  return absl::OkStatus();
}

uint32_t KernelBuilder::AddTree(const proto::TreePart& tree) {
  *unit_.add_trees() = tree;
  return static_cast<uint32_t>(unit_.trees_size() - 1);
}

int KernelBuilder::NumIndices(ParamId storage) const {
  return params_.Has(storage) ? params_[storage].num_indices : 0;
}

void KernelBuilder::SetReturnTypes(absl::Span<const TypeId> types) {
  proto::Function* body = unit_.mutable_kernel()->mutable_body();
  body->mutable_returns()->Clear();
  for (const TypeId type : types) body->add_returns(CheckType(type).ok() ? type.number() : 0);
}

// --- Values ----------------------------------------------------------------------

NodeNumber KernelBuilder::Const(uint64_t bits, Scalar type) {
  const NodeNumber made = Append(proto::CONST, types_.GetScalar(type), {});
  mutable_node(made)->set_index(bits);
  return made;
}

NodeNumber KernelBuilder::ConstInt(int64_t value, Scalar type) {
  if (IsFloat(type)) return ConstFloat(static_cast<double>(value), type);
  if (type == proto::U1) return ConstBool(value != 0);
  return Const(WrapInt(static_cast<uint64_t>(value), type), type);
}

NodeNumber KernelBuilder::ConstUInt(uint64_t value, Scalar type) {
  // Before the sign is lost: above 2^63 the two conversions differ.
  if (IsFloat(type)) return ConstFloat(static_cast<double>(value), type);
  return ConstInt(static_cast<int64_t>(value), type);
}

NodeNumber KernelBuilder::ConstFloat(double value, Scalar type) {
  if (!IsFloat(type)) return ConstInt(static_cast<int64_t>(value), type);
  return Const(FloatBits(value, type), type);
}

NodeNumber KernelBuilder::ConstBool(bool value) { return Const(value ? 1 : 0, proto::U1); }

absl::StatusOr<NodeNumber> KernelBuilder::Param(ParamId param) {
  RETURN_IF_ERROR(CheckParam(param, proto::Param::PARAM_VALUE));
  const NodeNumber made = Append(proto::PARAM, TypeOfParam(ParamAt(*current_.message, param)), {});
  mutable_node(made)->set_index(param.number());
  return made;
}

NodeNumber KernelBuilder::FoldedCast(NodeNumber constant, Scalar to) {
  const uint64_t bits = As<ConstNode>(constant).bits();
  const Scalar from = types_[TypeOf(constant)].scalar;
  // Floats to integers and halves keep the compiler's rounding and range rules.
  if (from == proto::F16 || to == proto::F16) return {};
  if (IsFloat(from)) return IsFloat(to) ? ConstFloat(FloatOf(bits, from), to) : NodeNumber();
  const int64_t value = SignedOf(bits, from);
  // Beyond 53 bits a conversion by way of double would round twice.
  if (IsFloat(to) && (value > kExactInDouble || value < -kExactInDouble)) return {};
  if (from == proto::U64) return ConstUInt(bits, to);
  return ConstInt(value, to);
}

NodeNumber KernelBuilder::CastUnchecked(NodeNumber x, TypeId to) {
  if (TypeOf(x) == to) return x;
  // Literals get the default type first; without folding, each would cost a cast in the kernel.
  if (node(x).kind() == proto::CONST && types_[to].IsScalar()) {
    if (const NodeNumber folded = FoldedCast(x, types_[to].scalar); folded) return folded;
  }
  const NodeNumber made = Append(proto::CAST_TO, to, {x});
  mutable_node(made)->set_op(proto::OP_CAST);
  return made;
}

NodeNumber KernelBuilder::CastScalars(NodeNumber x, Scalar to) {
  const Type& type = types_[TypeOf(x)];
  if (type.scalar == to) return x;
  return CastUnchecked(x,
                       type.IsTensor() ? types_.GetTensor(to, type.shape) : types_.GetScalar(to));
}

absl::StatusOr<NodeNumber> KernelBuilder::Operation(proto::NodeKind kind, proto::Op op,
                                                    absl::Span<const NodeNumber> operands) {
  // Inlined: ops have at most three operands, and a kernel thousands of ops.
  absl::InlinedVector<TypeId, 3> operand_types;
  for (const NodeNumber operand : operands) {
    RETURN_IF_ERROR(CheckValue(operand));
    operand_types.push_back(TypeOf(operand));
  }
  // All checks come before the first cast is appended: a refused op leaves no nodes behind.
  ASSIGN_OR_RETURN(const OpTyping typing, TypeOp(op, operand_types, defaults_, &types_));
  absl::InlinedVector<NodeNumber, 3> casts;
  for (size_t i = 0; i < operands.size(); ++i) {
    casts.push_back(CastScalars(operands[i], typing.operand_scalars[i]));
  }
  const NodeNumber made = Append(kind, typing.result, casts);
  mutable_node(made)->set_op(op);
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Unary(proto::Op op, NodeNumber x) {
  return Operation(proto::UNARY, op, {x});
}

absl::StatusOr<NodeNumber> KernelBuilder::Binary(proto::Op op, NodeNumber a, NodeNumber b) {
  if (op == proto::OP_POW) {
    RETURN_IF_ERROR(CheckValue(a));
    RETURN_IF_ERROR(CheckValue(b));
    if (const Scalar wide = TypeOfPower(a, b); wide != proto::SCALAR_NONE) {
      return WidePower(a, b, wide);
    }
  }
  return Operation(proto::BINARY, op, {a, b});
}

Scalar KernelBuilder::TypeOfPower(NodeNumber base, NodeNumber exponent) const {
  const auto scalar_of = [&](NodeNumber x) {
    const Scalar s = types_[TypeOf(x)].scalar;
    return s == proto::U1 ? defaults_.int_type : s;
  };
  const Scalar to = scalar_of(base), from = scalar_of(exponent);
  if (!IsInt(to) || !IsInt(from) || from == to || ScalarBits(from) < ScalarBits(to)) {
    return proto::SCALAR_NONE;
  }
  if (node(exponent).kind() == proto::CONST) {
    const uint64_t bits = As<ConstNode>(exponent).bits();
    const int64_t value = SignedOf(bits, from);
    const bool fits = SignedOf(WrapInt(bits, to), to) == value;
    if (fits && (value >= 0 || IsSignedInt(from) == IsSignedInt(to))) return proto::SCALAR_NONE;
  }
  return from;
}

absl::StatusOr<NodeNumber> KernelBuilder::WidePower(NodeNumber base, NodeNumber exponent,
                                                    Scalar wide) {
  // The check comes before the first cast: a refused op leaves no nodes behind.
  ASSIGN_OR_RETURN(const OpTyping typing,
                   TypeOp(proto::OP_POW, {TypeOf(base), TypeOf(exponent)}, defaults_, &types_));
  ASSIGN_OR_RETURN(const NodeNumber power,
                   Operation(proto::BINARY, proto::OP_POW, {CastScalars(base, wide), exponent}));
  return CastUnchecked(power, typing.result);
}

absl::StatusOr<NodeNumber> KernelBuilder::Ternary(proto::Op op, NodeNumber c, NodeNumber a,
                                                  NodeNumber b) {
  return Operation(proto::TERNARY, op, {c, a, b});
}

absl::StatusOr<NodeNumber> KernelBuilder::Cast(NodeNumber x, TypeId to) {
  RETURN_IF_ERROR(CheckValue(x));
  RETURN_IF_ERROR(CheckType(to));
  RETURN_IF_ERROR(CheckCast(TypeOf(x), to, types_));
  return CastUnchecked(x, to);
}

absl::StatusOr<NodeNumber> KernelBuilder::BitCast(NodeNumber x, TypeId to) {
  RETURN_IF_ERROR(CheckValue(x));
  RETURN_IF_ERROR(CheckType(to));
  RETURN_IF_ERROR(CheckBitCast(TypeOf(x), to, types_));
  if (TypeOf(x) == to) return x;
  const NodeNumber made = Append(proto::CAST_TO, to, {x});
  mutable_node(made)->set_op(proto::OP_BIT_CAST);
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::MakeTensor(absl::Span<const NodeNumber> elements,
                                                     const std::vector<uint32_t>& shape) {
  Type type;
  type.shape = shape;
  if (shape.empty() || shape.size() > 2 || elements.empty() ||
      elements.size() > kMaxTensorElements || type.NumElements() != elements.size()) {
    return Misuse("a tensor of ", elements.size(), " elements cannot have the given shape");
  }
  for (const NodeNumber element : elements) {
    RETURN_IF_ERROR(CheckValue(element));
    const Type& element_type = types_[TypeOf(element)];
    if (!element_type.IsScalar()) {
      return Refuse(kElementIsNoScalar, types_.Name(TypeOf(element)));
    }
    type.scalar = type.scalar == proto::SCALAR_NONE ? element_type.scalar
                                                    : Promote(type.scalar, element_type.scalar);
  }
  std::vector<NodeNumber> casts;
  // Large matrices have thousands of elements.
  casts.reserve(elements.size());
  for (const NodeNumber element : elements) casts.push_back(CastScalars(element, type.scalar));
  return Append(proto::MAKE_TENSOR, types_.Get(type), casts);
}

std::vector<NodeNumber> KernelBuilder::IndexOperands(NodeNumber first,
                                                     absl::Span<const NodeNumber> indices) {
  std::vector<NodeNumber> operands;
  operands.reserve(indices.size() + 1);
  if (first) operands.push_back(first);
  for (const NodeNumber index : indices) {
    const bool is_bool = types_[TypeOf(index)].scalar == proto::U1;
    // As in Python, where True is the index 1.
    operands.push_back(is_bool ? CastScalars(index, proto::I32) : index);
  }
  return operands;
}

absl::StatusOr<NodeNumber> KernelBuilder::Extract(NodeNumber tensor,
                                                  absl::Span<const NodeNumber> indices) {
  RETURN_IF_ERROR(CheckValue(tensor));
  RETURN_IF_ERROR(CheckTensorIndices(TypeOf(tensor), indices));
  const TypeId type = types_.GetScalar(types_[TypeOf(tensor)].scalar);
  return Append(proto::EXTRACT, type, IndexOperands(tensor, indices));
}

absl::StatusOr<NodeNumber> KernelBuilder::Pick(NodeNumber tensor,
                                               const std::vector<uint32_t>& shape, uint32_t first,
                                               absl::Span<const int32_t> strides) {
  RETURN_IF_ERROR(CheckValue(tensor));
  // A copy: a new type below may move the table.
  const Type from = types_[TypeOf(tensor)];
  if (!from.IsTensor() || shape.empty() || shape.size() > 2 || strides.size() != shape.size()) {
    return Misuse("cannot pick elements of '", types_.Name(TypeOf(tensor)), "'");
  }
  uint64_t elements = 1;
  int64_t lowest = first, last = first;
  for (size_t d = 0; d < shape.size(); ++d) {
    // Its span below would be negative.
    if (shape[d] == 0) return Misuse("a dimension of extent 0");
    elements *= shape[d];
    const int64_t span = int64_t{strides[d]} * (int64_t{shape[d]} - 1);
    // A negative stride reaches downwards from the first element.
    (span < 0 ? lowest : last) += span;
  }
  if (elements > kMaxTensorElements) {
    return Misuse("a tensor of ", elements, " elements; at most ", kMaxTensorElements);
  }
  if (lowest < 0 || last >= static_cast<int64_t>(from.NumElements())) {
    return Misuse("element ", lowest < 0 ? lowest : last, " of '", types_.Name(TypeOf(tensor)),
                  "'");
  }
  const NodeNumber made = Append(proto::PICK, types_.GetTensor(from.scalar, shape), {tensor});
  mutable_node(made)->add_attributes(first);
  for (const int32_t stride : strides) mutable_node(made)->add_attributes(stride);
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Reduce(proto::Op op, NodeNumber tensor) {
  RETURN_IF_ERROR(CheckValue(tensor));
  ASSIGN_OR_RETURN(const TypeId type, TypeReduce(op, TypeOf(tensor), defaults_, &types_));
  const NodeNumber made = Append(proto::REDUCE, type, {CastScalars(tensor, types_[type].scalar)});
  mutable_node(made)->set_op(op);
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::MakeStruct(TypeId type,
                                                     absl::Span<const NodeNumber> members) {
  RETURN_IF_ERROR(CheckType(type));
  const Type& target = types_[type];
  if (!target.IsStruct() || target.members.size() != members.size()) {
    return Misuse("'", types_.Name(type), "' has ", target.members.size(), " members, not ",
                  members.size());
  }
  for (size_t i = 0; i < members.size(); ++i) {
    RETURN_IF_ERROR(CheckValue(members[i]));
    // All members before the first cast, as an error must leave the kernel unchanged.
    RETURN_IF_ERROR(CheckCast(TypeOf(members[i]), target.members[i].second, types_));
  }
  std::vector<NodeNumber> casts;
  casts.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    casts.push_back(CastUnchecked(members[i], target.members[i].second));
  }
  return Append(proto::MAKE_STRUCT, type, casts);
}

absl::StatusOr<NodeNumber> KernelBuilder::GetMember(NodeNumber value, int member) {
  RETURN_IF_ERROR(CheckValue(value));
  const Type& type = types_[TypeOf(value)];
  if (member < 0 || member >= static_cast<int>(type.members.size())) {
    return Misuse("'", types_.Name(TypeOf(value)), "' has no member ", member);
  }
  const NodeNumber made = Append(proto::GET_MEMBER, type.members[member].second, {value});
  mutable_node(made)->set_index(static_cast<uint64_t>(member));
  return made;
}

NodeNumber KernelBuilder::Random(TypeId type) {
  // No node: its uses then report it.
  if (!types_.Has(type) || !types_[type].IsScalar()) return {};
  return Append(proto::RANDOM, type, {});
}

absl::StatusOr<NodeNumber> KernelBuilder::Shape(ParamId storage, int axis) {
  RETURN_IF_ERROR(CheckParam(storage, proto::Param::PARAM_STORAGE));
  if (axis < 0 || axis >= params_[storage].num_indices) {
    return Misuse("axis ", axis, " does not exist: the parameter has ",
                  params_[storage].num_indices);
  }
  const NodeNumber made = Append(proto::SHAPE, types_.GetScalar(proto::I32), {});
  mutable_node(made)->set_index(storage.number());
  mutable_node(made)->add_attributes(axis);
  return made;
}

// --- Addresses and memory ----------------------------------------------------------

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
                  StrCat("'", types_.Name(type), "' and '", types_.Name(TypeOf(value)), "'"));
  }
  RETURN_IF_ERROR(AssertUnmarked(address));
  const NodeNumber made = Append(proto::ATOMIC, type, {address, CastUnchecked(value, type)});
  mutable_node(made)->set_op(op);
  return made;
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
  // One more than the position, as 0 means "no span".
  return static_cast<uint32_t>(source_map_.spans_size());
}

absl::Status KernelBuilder::CheckClosed() const {
  const std::vector<OpenBlock>& open = current_.open;
  if (open.size() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat(
      open.size() - 1, " blocks are open; the innermost is of ",
      FindNode(open.back().kind)->spelling, " node ", NodeInFunction(open.back().owner).number()));
}

absl::Status KernelBuilder::Finish(proto::CompileUnit* unit, proto::SourceMap* source_map,
                                   std::vector<ReachedTree>* reached, proto::CompileUnit* whole) {
  RETURN_IF_ERROR(CheckClosed());
  if (!suspended_.empty()) {
    return absl::FailedPreconditionError(StrCat("function ", current_.id.number(), " is open"));
  }
  if (whole != nullptr && unit_.trees_size() > 0) {
    *whole->mutable_storages() = unit_.storages();
    *whole->mutable_trees() = unit_.trees();
  }
  ASSIGN_OR_RETURN(std::vector<ReachedTree> trees,
                   PruneTrees(unit_.mutable_storages(), unit_.mutable_trees()));
  if (reached != nullptr) *reached = std::move(trees);
  types_.ToProto(unit_.mutable_kernel()->mutable_types());
  // Swapped, not copied: a unit may have megabytes, and the builder ends here.
  unit->mutable_kernel()->Swap(unit_.mutable_kernel());
  unit->mutable_storages()->Swap(unit_.mutable_storages());
  unit->mutable_trees()->Swap(unit_.mutable_trees());
  source_map->Swap(&source_map_);
  return absl::OkStatus();
}

}  // namespace kiln
