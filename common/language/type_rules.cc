#include "common/language/type_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"

namespace kiln {
namespace {

int KindOf(Scalar s) {
  if (IsFloat(s)) return proto::OPERAND_FLOAT;
  return s == proto::U1 ? proto::OPERAND_BOOL : proto::OPERAND_INT;
}

// The user's spelling of the op: Python's token, if there is one.
std::string Spelling(const OpInfo& info) {
  return *info.python != '\0' ? info.python : info.spelling;
}

absl::Status UnsupportedOperands(const OpInfo& info, absl::Span<const TypeId> operands,
                                 const TypeTable& types) {
  const auto quoted = [&types](std::string* out, TypeId type) {
    absl::StrAppend(out, "'", types.Name(type), "'");
  };
  if (operands.size() == 1) {
    const bool wants_float = info.operands == proto::OPERAND_FLOAT;
    return Refuse(kUnsupportedOperand, info.spelling, wants_float ? "real" : "integral",
                  types.Name(operands[0]));
  }
  return Refuse(kUnsupportedOperands, Spelling(info), absl::StrJoin(operands, " and ", quoted));
}

// Whether each operand is a scalar or tensor of a kind that the op accepts. u1 counts as an
// integer.
bool AllSupported(const OpInfo& info, absl::Span<const TypeId> operands, const TypeTable& types) {
  for (const TypeId operand : operands) {
    const Scalar scalar = types[operand].scalar;
    if (scalar == proto::SCALAR_NONE) return false;
    int kind = KindOf(scalar);
    if (kind == proto::OPERAND_BOOL) kind |= proto::OPERAND_INT;
    if ((info.operands & kind) == 0) return false;
  }
  return true;
}

// The common shape of all tensors among the operands; null if all operands are scalars.
absl::StatusOr<const std::vector<uint32_t>*> CommonShape(const OpInfo& info,
                                                         absl::Span<const TypeId> operands,
                                                         const TypeTable& types) {
  const std::vector<uint32_t>* shape = nullptr;
  for (const TypeId operand : operands) {
    const Type& type = types[operand];
    if (!type.IsTensor()) continue;
    // No broadcasting between tensors, only of scalars: as in the language.
    if (shape != nullptr && *shape != type.shape) {
      return UnsupportedOperands(info, operands, types);
    }
    shape = &type.shape;
  }
  return shape;
}

std::string ShapeText(const Type& type) {
  return absl::StrCat("(", absl::StrJoin(type.shape, ", "), type.shape.size() == 1 ? ",)" : ")");
}

// A vector on the left counts as a row, on the right as a column; the result lacks that dimension.
absl::StatusOr<std::vector<uint32_t>> MatmulShape(const OpInfo& info,
                                                  absl::Span<const TypeId> operands,
                                                  const TypeTable& types) {
  const Type& a = types[operands[0]];
  const Type& b = types[operands[1]];
  if (!a.IsTensor() || !b.IsTensor()) return UnsupportedOperands(info, operands, types);
  if (a.shape.back() != b.shape.front()) {
    return Refuse(kDimensionMismatch, ShapeText(a), ShapeText(b));
  }
  std::vector<uint32_t> shape;
  if (a.shape.size() == 2) shape.push_back(a.shape[0]);
  if (b.shape.size() == 2) shape.push_back(b.shape[1]);
  uint64_t elements = 1;
  for (const uint32_t extent : shape) elements *= extent;
  if (elements > kMaxTensorElements) {
    return Refuse(kProductTooLarge, ShapeText(a), ShapeText(b), kMaxTensorElements);
  }
  return shape;
}

// The scalar types of one op, which its result rule determines.
struct ScalarTyping {
  Scalar result;
  absl::InlinedVector<Scalar, 3> operands;
};

ScalarTyping TypeScalars(const OpInfo& info, absl::Span<const Scalar> operands,
                         const DefaultTypes& defaults) {
  const size_t n = operands.size();
  // Python's bool counts as an int.
  const auto arithmetic = [&](Scalar s) { return s == proto::U1 ? defaults.int_type : s; };
  const auto as_float = [&](Scalar s) { return IsFloat(s) ? s : defaults.float_type; };
  // Promotes the results of `f` for all operands.
  const auto promote = [&](auto f) {
    Scalar common = f(operands[0]);
    for (size_t i = 1; i < n; ++i) common = Promote(common, f(operands[i]));
    return common;
  };
  const auto all = [n](Scalar result, Scalar operand) {
    return ScalarTyping{result, absl::InlinedVector<Scalar, 3>(n, operand)};
  };
  switch (info.result) {
    case proto::RESULT_SAME:
    case proto::RESULT_PROMOTE:
    case proto::RESULT_MATMUL: {
      // Ops on bits keep u1 (True & False is a bool); arithmetic converts it to an integer.
      const Scalar common = promote([](Scalar s) { return s; });
      const Scalar type = info.operands == proto::OPERAND_BOOL_INT ? common : arithmetic(common);
      return all(type, type);
    }
    case proto::RESULT_POWER: {
      const Scalar common = promote(arithmetic);
      // Integers: the result has the base's type. The builder widens the base where the exponent
      // needs that.
      const Scalar type = IsFloat(common) ? common : arithmetic(operands[0]);
      return all(type, type);
    }
    case proto::RESULT_FLOAT: {
      const Scalar type = promote(as_float);
      return all(type, type);
    }
    case proto::RESULT_BOOL:
      // Ops on one value (isnan) convert it to a float; comparisons promote both operands.
      return all(proto::U1, n == 1 ? as_float(operands[0]) : arithmetic(promote(arithmetic)));
    case proto::RESULT_TRUTH:
      return all(proto::U1, proto::U1);
    case proto::RESULT_LEFT: {
      // Casting the count may drop high bits, which is harmless: it is taken modulo 32 or 64.
      const Scalar type = arithmetic(operands[0]);
      return all(type, type);
    }
    case proto::RESULT_INT32:
      return all(proto::I32, arithmetic(operands[0]));
    case proto::RESULT_SELECT: {
      const Scalar type = Promote(operands[1], operands[2]);
      return {type, {proto::U1, type, type}};
    }
    default:
      return {proto::SCALAR_NONE, {}};
  }
}

}  // namespace

Scalar Promote(Scalar a, Scalar b) {
  if (a == b) return a;
  // Any float wins over any integer, even a narrower one: as in Taichi.
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  if (ScalarBits(a) != ScalarBits(b)) return ScalarBits(a) > ScalarBits(b) ? a : b;
  // Equal widths: unsigned wins, as in C.
  return IsUnsignedInt(a) ? a : b;
}

absl::StatusOr<OpTyping> TypeOp(proto::Op op, absl::Span<const TypeId> operands,
                                const DefaultTypes& defaults, TypeTable* types) {
  const OpInfo* info = FindOp(op);
  if (info == nullptr || info->result == proto::RESULT_EXPLICIT ||
      info->result == proto::RESULT_ADDRESS) {
    return Misuse("op ", op, " computes no value of operands");
  }
  if (static_cast<int>(operands.size()) != info->arity) {
    return Misuse("'", info->spelling, "' takes ", info->arity, " operands, not ", operands.size());
  }
  if (!AllSupported(*info, operands, *types)) return UnsupportedOperands(*info, operands, *types);

  absl::InlinedVector<Scalar, 3> scalars;
  for (const TypeId operand : operands) scalars.push_back((*types)[operand].scalar);
  ScalarTyping typing = TypeScalars(*info, scalars, defaults);

  OpTyping result{TypeId(), std::move(typing.operands)};
  if (info->result == proto::RESULT_MATMUL) {
    ASSIGN_OR_RETURN(const std::vector<uint32_t> shape, MatmulShape(*info, operands, *types));
    result.result = types->GetTensor(typing.result, shape);
    return result;
  }
  ASSIGN_OR_RETURN(const std::vector<uint32_t>* shape, CommonShape(*info, operands, *types));
  result.result =
      shape == nullptr ? types->GetScalar(typing.result) : types->GetTensor(typing.result, *shape);
  return result;
}

absl::StatusOr<TypeId> TypeReduce(proto::Op op, TypeId operand, const DefaultTypes& defaults,
                                  TypeTable* types) {
  switch (op) {
    case proto::OP_ADD:
    case proto::OP_MUL:
    case proto::OP_MIN:
    case proto::OP_MAX:
    case proto::OP_BIT_AND:
    case proto::OP_BIT_OR:
    case proto::OP_BIT_XOR:
    case proto::OP_LOGICAL_AND:
    case proto::OP_LOGICAL_OR:
      break;
    default:
      return Misuse("op ", op, " does not reduce");
  }
  const Type& type = (*types)[operand];
  if (!type.IsTensor()) {
    return Misuse("'", types->Name(operand), "' has no elements to reduce");
  }
  const TypeId element = types->GetScalar(type.scalar);
  ASSIGN_OR_RETURN(const OpTyping typing, TypeOp(op, {element, element}, defaults, types));
  return typing.result;
}

absl::Status CheckAtomic(proto::Op op, TypeId address, const TypeTable& types) {
  const OpInfo* info = FindOp(op);
  if (info == nullptr || info->family != proto::FAMILY_ATOMIC) {
    return Misuse("op ", op, " is not atomic");
  }
  if (!AllSupported(*info, {address}, types)) return UnsupportedOperands(*info, {address}, types);
  return absl::OkStatus();
}

absl::Status CheckCast(TypeId from, TypeId to, const TypeTable& types) {
  if (from == to && from) return absl::OkStatus();
  const Type& source = types[from];
  const Type& target = types[to];
  // Structs have no scalar, and are never converted to another struct.
  const bool numbers = source.scalar != proto::SCALAR_NONE && target.scalar != proto::SCALAR_NONE;
  if (numbers && (source.IsScalar() || source.shape == target.shape)) return absl::OkStatus();
  return Refuse(kCannotCast, types.Name(from), types.Name(to));
}

absl::Status CheckBitCast(TypeId from, TypeId to, const TypeTable& types) {
  const Type& source = types[from];
  const Type& target = types[to];
  if (source.scalar != proto::SCALAR_NONE && target.scalar != proto::SCALAR_NONE &&
      source.shape == target.shape && ScalarBits(source.scalar) == ScalarBits(target.scalar)) {
    return absl::OkStatus();
  }
  return Refuse(kBitCastOfOtherWidth, types.Name(from), types.Name(to));
}

}  // namespace kiln
