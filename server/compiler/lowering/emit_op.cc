#include "server/compiler/lowering/emit_op.h"

#include <cstdint>
#include <utility>

#include "common/base/check.h"
#include "common/language/op_table.h"
#include "common/language/type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/lowering/emit_division.h"
#include "server/compiler/lowering/emit_power.h"
#include "server/compiler/lowering/float_bits.h"
#include "server/compiler/lowering/scalar_builder.h"

namespace kiln {
namespace {

using mlir::Value;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;
namespace arith = mlir::arith;
namespace math = mlir::math;

// kOps: the rows of op_table.h, at compile time.
#include "common/language/op_table_data.inc"

// The type of a count of an operand's bits: of the same width, without a sign.
Scalar AsUnsigned(Scalar s) {
  switch (s) {
    case proto::I8:
      return proto::U8;
    case proto::I16:
      return proto::U16;
    case proto::I32:
      return proto::U32;
    case proto::I64:
      return proto::U64;
    default:
      return s;
  }
}

Value Neg(const ScalarBuilder& s, Value x) {
  // Modulo 2 a number is its own negative.
  if (s.scalar() == proto::U1) return x;
  return s.is_float() ? s.F<arith::NegFOp>(x) : s.I<arith::SubIOp>(s.Number(0), x);
}

Value Abs(const ScalarBuilder& s, Value x) { return s.Abs(x); }

Value ReciprocalRoot(const ScalarBuilder& s, Value x) {
  return s.F<arith::DivFOp>(s.Number(1), s.F<math::SqrtOp>(x));
}

Value BitNot(const ScalarBuilder& s, Value x) {
  return s.I<arith::XOrIOp>(x, s.Bits(~uint64_t{0} >> (64 - s.bits())));
}

Value LogicalNot(const ScalarBuilder& s, Value x) {
  return s.I<arith::XOrIOp>(s.Truth(x), s.Of(proto::U1).Bits(1));
}

Value Arithmetic(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  const bool f = s.is_float();
  switch (op) {
    case proto::OP_ADD:
      return f ? s.F<arith::AddFOp>(x, y) : s.I<arith::AddIOp>(x, y);
    case proto::OP_SUB:
      return f ? s.F<arith::SubFOp>(x, y) : s.I<arith::SubIOp>(x, y);
    default:
      return s.Mul(x, y);
  }
}

Value Shift(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  if (s.scalar() == proto::U1) return x;  // modulo width 1: by nothing
  if (s.bits() < 32) {
    // In 32 bits, as in C: bytes that are shifted by 8 are 0.
    const Scalar from = op == proto::OP_SHR ? s.scalar() : AsUnsigned(s.scalar());
    const Scalar wide = IsSignedInt(from) ? proto::I32 : proto::U32;
    const auto widen = [&](Value v) { return s.Cast(from, wide, v); };
    const Value shifted = Shift(s.Of(wide), op, widen(x), widen(y));
    return s.Cast(wide, s.scalar(), shifted);
  }
  // Modulo the width, as processors do it: a larger count would be poison.
  const Value count = s.I<arith::AndIOp>(y, s.Number(s.bits() - 1));
  if (op == proto::OP_SHL) return s.I<arith::ShLIOp>(x, count);
  return op == proto::OP_SHR && s.is_signed() ? s.I<arith::ShRSIOp>(x, count)
                                              : s.I<arith::ShRUIOp>(x, count);
}

Value Compare(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  struct Row {
    CmpFPredicate floats;
    CmpIPredicate signed_ints, unsigned_ints;
  };
  static constexpr Row kRows[] = {
      // Ordered: comparisons with NaN are false, except "not equal".
      {CmpFPredicate::OLT, CmpIPredicate::slt, CmpIPredicate::ult},
      {CmpFPredicate::OLE, CmpIPredicate::sle, CmpIPredicate::ule},
      {CmpFPredicate::OGT, CmpIPredicate::sgt, CmpIPredicate::ugt},
      {CmpFPredicate::OGE, CmpIPredicate::sge, CmpIPredicate::uge},
      {CmpFPredicate::OEQ, CmpIPredicate::eq, CmpIPredicate::eq},
      {CmpFPredicate::UNE, CmpIPredicate::ne, CmpIPredicate::ne},
  };
  static_assert(proto::OP_NE - proto::OP_LT == 5, "rows follow the op numbers");
  const Row& row = kRows[op - proto::OP_LT];
  if (s.is_float()) return s.CmpF(row.floats, x, y);
  return s.CmpI(s.is_signed() ? row.signed_ints : row.unsigned_ints, x, y);
}

// If one operand is NaN, the result is the other one. With a constant this is a compare and a
// select; MLIR would fold minima of infinities as if there were no NaNs.
Value FloatExtreme(const ScalarBuilder& s, bool min, Value x, Value y) {
  llvm::APFloat constant(0.0);
  if (mlir::matchPattern(x, mlir::m_ConstantFloat(&constant))) std::swap(x, y);
  if (mlir::matchPattern(y, mlir::m_ConstantFloat(&constant))) {
    if (constant.isNaN()) return x;
    return s.Select(s.CmpF(min ? CmpFPredicate::OLT : CmpFPredicate::OGT, x, y), x, y);
  }
  return min ? s.F<arith::MinNumFOp>(x, y) : s.F<arith::MaxNumFOp>(x, y);
}

Value Extreme(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  const bool min = op == proto::OP_MIN;
  if (s.is_float()) return FloatExtreme(s, min, x, y);
  if (s.is_signed()) return min ? s.I<arith::MinSIOp>(x, y) : s.I<arith::MaxSIOp>(x, y);
  return min ? s.I<arith::MinUIOp>(x, y) : s.I<arith::MaxUIOp>(x, y);
}

// --- Forms of kRows

using EmitX = Value(const ScalarBuilder& s, Value x);
template <EmitX* kEmit>
Value OfX(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value /*y*/) {
  return kEmit(s, x);
}

using EmitXAndY = Value(const ScalarBuilder& s, Value x, Value y);
template <EmitXAndY* kEmit>
Value OfXAndY(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value y) {
  return kEmit(s, x, y);
}

using EmitOpOfX = Value(const ScalarBuilder& s, proto::Op op, Value x);
template <EmitOpOfX* kEmit>
Value OpOfX(const ScalarBuilder& s, proto::Op op, Value x, Value /*y*/) {
  return kEmit(s, op, x);
}

template <typename Op>
Value FloatFunction(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value /*y*/) {
  return s.F<Op>(x);
}

template <typename Op>
Value FloatFunctionOfTwo(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value y) {
  return s.F<Op>(x, y);
}

template <typename Op>
Value BitWise(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value y) {
  return s.I<Op>(x, y);
}

template <typename Op>
Value CountOfBits(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value /*y*/) {
  return s.Cast(AsUnsigned(s.scalar()), proto::I32, s.Fold<Op>(x));
}

template <typename Op>
Value OfTruths(const ScalarBuilder& s, proto::Op /*op*/, Value x, Value y) {
  return s.I<Op>(s.Truth(x), s.Truth(y));
}

// What each op is.
struct Row {
  proto::Op op;
  // `y` of unary ops is null.
  Value (*emit)(const ScalarBuilder& s, proto::Op op, Value x, Value y);
};

constexpr Row kRows[] = {
    {proto::OP_NEG, &OfX<&Neg>},
    {proto::OP_ABS, &OfX<&Abs>},
    {proto::OP_SQRT, &FloatFunction<math::SqrtOp>},
    {proto::OP_RSQRT, &OfX<&ReciprocalRoot>},
    {proto::OP_SIN, &FloatFunction<math::SinOp>},
    {proto::OP_COS, &FloatFunction<math::CosOp>},
    {proto::OP_TAN, &FloatFunction<math::TanOp>},
    {proto::OP_ASIN, &FloatFunction<math::AsinOp>},
    {proto::OP_ACOS, &FloatFunction<math::AcosOp>},
    {proto::OP_TANH, &FloatFunction<math::TanhOp>},
    {proto::OP_EXP, &FloatFunction<math::ExpOp>},
    {proto::OP_LOG, &FloatFunction<math::LogOp>},
    {proto::OP_FLOOR, &FloatFunction<math::FloorOp>},
    {proto::OP_CEIL, &FloatFunction<math::CeilOp>},
    {proto::OP_ROUND, &FloatFunction<math::RoundOp>},
    {proto::OP_FREXP_MANTISSA, &OpOfX<&EmitFrexp>},
    {proto::OP_FREXP_EXPONENT, &OpOfX<&EmitFrexp>},
    {proto::OP_BIT_NOT, &OfX<&BitNot>},
    {proto::OP_LOGICAL_NOT, &OfX<&LogicalNot>},
    {proto::OP_POPCNT, &CountOfBits<math::CtPopOp>},
    {proto::OP_CLZ, &CountOfBits<math::CountLeadingZerosOp>},
    {proto::OP_ISNAN, &OpOfX<&EmitClass>},
    {proto::OP_ISINF, &OpOfX<&EmitClass>},

    {proto::OP_ADD, &Arithmetic},
    {proto::OP_SUB, &Arithmetic},
    {proto::OP_MUL, &Arithmetic},
    {proto::OP_TRUEDIV, &EmitDivision},
    {proto::OP_FLOORDIV, &EmitDivision},
    {proto::OP_MOD, &EmitDivision},
    {proto::OP_RAW_DIV, &EmitDivision},
    {proto::OP_RAW_MOD, &EmitDivision},
    {proto::OP_POW, &OfXAndY<&EmitPower>},
    {proto::OP_ATAN2, &FloatFunctionOfTwo<math::Atan2Op>},
    {proto::OP_MIN, &Extreme},
    {proto::OP_MAX, &Extreme},
    {proto::OP_SHL, &Shift},
    {proto::OP_SHR, &Shift},
    {proto::OP_BIT_SHR, &Shift},
    {proto::OP_BIT_AND, &BitWise<arith::AndIOp>},
    {proto::OP_BIT_OR, &BitWise<arith::OrIOp>},
    {proto::OP_BIT_XOR, &BitWise<arith::XOrIOp>},
    {proto::OP_LOGICAL_AND, &OfTruths<arith::AndIOp>},
    {proto::OP_LOGICAL_OR, &OfTruths<arith::OrIOp>},

    {proto::OP_LT, &Compare},
    {proto::OP_LE, &Compare},
    {proto::OP_GT, &Compare},
    {proto::OP_GE, &Compare},
    {proto::OP_EQ, &Compare},
    {proto::OP_NE, &Compare},
};

constexpr const Row* FindRow(proto::Op op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

// Whether each op of one or two scalars of one type has a row. The others are in EmitTernary,
// EmitCast and EmitBitCast, or in handlers of nodes.
constexpr bool HasAllRows() {
  for (const OpInfo& info : kOps) {
    const bool is_here = info.family == proto::FAMILY_UNARY ||
                         info.family == proto::FAMILY_BINARY ||
                         info.family == proto::FAMILY_COMPARE;
    if (is_here && info.op != proto::OP_MATMUL && FindRow(info.op) == nullptr) return false;
  }
  return true;
}

// `y` of unary ops is null.
Value Apply(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  static_assert(HasAllRows(), "an op of proto/op.proto has no row in kRows");
  const Row* row = FindRow(op);
  KILN_CHECK(row != nullptr) << "op " << op << " is not of one or two scalars";
  return row->emit(s, op, x, y);
}

// Whether the op is emitted on halves. All others are emitted on f32, widened and narrowed once
// for the whole op.
bool HalfIsEnough(proto::Op op) {
  // These give what f32 would, rounded once, or round nothing.
  switch (op) {
    case proto::OP_NEG:
    case proto::OP_ABS:
    case proto::OP_ISNAN:
    case proto::OP_ISINF:
    case proto::OP_LOGICAL_NOT:
    case proto::OP_FREXP_MANTISSA:
    case proto::OP_FREXP_EXPONENT:
    case proto::OP_ADD:
    case proto::OP_SUB:
    case proto::OP_MUL:
    case proto::OP_LOGICAL_AND:
    case proto::OP_LOGICAL_OR:
      return true;
    default:
      return op >= proto::OP_LT && op <= proto::OP_NE;
  }
}

}  // namespace

Value EmitUnary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, Scalar scalar, Value x,
                const EmitOptions& options) {
  if (scalar == proto::F16 && !HalfIsEnough(op)) {
    const Value wide = EmitCast(b, loc, proto::F16, proto::F32, x, options);
    const Value result = Apply(ScalarBuilder(b, loc, proto::F32, options), op, wide, {});
    return EmitCast(b, loc, proto::F32, proto::F16, result, options);
  }
  return Apply(ScalarBuilder(b, loc, scalar, options), op, x, {});
}

Value EmitBinary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, Scalar scalar, Value x,
                 Value y, const EmitOptions& options) {
  if (scalar == proto::F16 && !HalfIsEnough(op)) {
    const Value result =
        EmitBinary(b, loc, op, proto::F32, EmitCast(b, loc, scalar, proto::F32, x, options),
                   EmitCast(b, loc, scalar, proto::F32, y, options), options);
    return EmitCast(b, loc, proto::F32, proto::F16, result, options);
  }
  return Apply(ScalarBuilder(b, loc, scalar, options), op, x, y);
}

Value EmitTernary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, Scalar scalar,
                  Value condition, Value x, Value y, const EmitOptions& options) {
  KILN_CHECK(op == proto::OP_SELECT) << "no ternary op " << op;
  return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
}

proto::Op AtomicCombiner(proto::Op op) {
  switch (op) {
    case proto::OP_ATOMIC_ADD:
      return proto::OP_ADD;
    case proto::OP_ATOMIC_SUB:
      return proto::OP_SUB;
    case proto::OP_ATOMIC_MUL:
      return proto::OP_MUL;
    case proto::OP_ATOMIC_MIN:
      return proto::OP_MIN;
    case proto::OP_ATOMIC_MAX:
      return proto::OP_MAX;
    case proto::OP_ATOMIC_AND:
      return proto::OP_BIT_AND;
    case proto::OP_ATOMIC_OR:
      return proto::OP_BIT_OR;
    case proto::OP_ATOMIC_XOR:
      return proto::OP_BIT_XOR;
    default:
      return proto::OP_NONE;
  }
}

}  // namespace kiln
