// The part of KernelBuilder that makes values: constants, operations, tensors and structs.
#include <cstring>
#include <utility>

#include "client_cpp/kernel_builder.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/node_views.h"

namespace kiln {
namespace {

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

}  // namespace

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

}  // namespace kiln
