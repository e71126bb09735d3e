#include "server/compiler/lowering/emit_op.h"

#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/language/op_table.h"
#include "common/language/type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {
namespace {

using mlir::Value;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;
using proto::Scalar;
namespace arith = mlir::arith;
namespace math = mlir::math;

// Powers up to this are written out as multiplications.
// At most eight of them, for 31: four squares and four products. A call costs more than that.
constexpr int64_t kMaxExpandedPower = 32;

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

// kOps: the rows of op_table.h, at compile time.
#include "common/language/op_table_data.inc"

// Builds operations on values of one scalar type.
class Emitter {
 public:
  Emitter(mlir::OpBuilder& b, mlir::Location loc, Scalar scalar, const EmitOptions& options)
      : b_(b),
        loc_(loc),
        scalar_(scalar),
        options_(options),
        type_(ValueType(b.getContext(), scalar)),
        bits_(ScalarBits(scalar)),
        fast_(ir::FloatFlags(options.fast_math)) {}

  bool is_float() const { return IsFloat(scalar_); }
  bool is_signed() const { return IsSignedInt(scalar_); }

  // `y` of unary ops is null.
  Value Apply(proto::Op op, Value x, Value y);
  Value ToInteger(Value x, Scalar to);
  Value ToUnsigned(Value x, Scalar to);

  Value Number(double v) { return EmitNumber(b_, loc_, scalar_, v); }
  Value Truth(Value x) {
    if (scalar_ == proto::U1) return x;
    return is_float() ? CmpF(CmpFPredicate::UNE, x, Number(0))
                      : CmpI(CmpIPredicate::ne, x, Number(0));
  }

 private:
  // createOrFold everywhere: constants fold at once, so that matchPattern sees them in the ops that
  // follow.
  template <typename Op>
  Value F(Value x) {
    return b_.createOrFold<Op>(loc_, x, fast_);
  }
  template <typename Op>
  Value F(Value x, Value y) {
    return b_.createOrFold<Op>(loc_, x, y, fast_);
  }
  template <typename Op>
  Value I(Value x, Value y) {
    return b_.createOrFold<Op>(loc_, x, y);
  }
  Value CmpF(CmpFPredicate p, Value x, Value y) {
    return b_.createOrFold<arith::CmpFOp>(loc_, p, x, y);
  }
  Value CmpI(CmpIPredicate p, Value x, Value y) {
    return b_.createOrFold<arith::CmpIOp>(loc_, p, x, y);
  }
  Value Select(Value c, Value x, Value y) {
    return b_.createOrFold<arith::SelectOp>(loc_, c, x, y);
  }
  Value Bits(uint64_t bits) { return EmitConstant(b_, loc_, scalar_, bits); }
  // An emitter of the integers as wide as this float, and the float's bits.
  Emitter AsInteger() const {
    const Scalar s = bits_ == 16 ? proto::U16 : bits_ == 32 ? proto::U32 : proto::U64;
    return Emitter(b_, loc_, s, options_);
  }
  Value ToBits(Value x) { return b_.createOrFold<arith::BitcastOp>(loc_, AsInteger().type_, x); }
  int mantissa_bits() const { return bits_ == 16 ? 10 : bits_ == 32 ? 23 : 52; }
  uint64_t exponent_mask() const {
    return ((uint64_t{1} << (bits_ - 1)) - 1) & ~((uint64_t{1} << mantissa_bits()) - 1);
  }

  Value Neg(Value x);
  Value Abs(Value x);
  Value ReciprocalRoot(Value x) { return F<arith::DivFOp>(Number(1), F<math::SqrtOp>(x)); }
  Value BitNot(Value x) { return I<arith::XOrIOp>(x, Bits(~uint64_t{0} >> (64 - bits_))); }
  Value LogicalNot(Value x) {
    return I<arith::XOrIOp>(Truth(x), EmitConstant(b_, loc_, proto::U1, 1));
  }
  Value ClassOfBits(proto::Op op, Value x, Value /*y*/);
  Value Frexp(proto::Op op, Value x, Value /*y*/);
  Value Arithmetic(proto::Op op, Value x, Value y);
  Value Divide(proto::Op op, Value x, Value y);
  Value DivideByConstant(proto::Op op, Value x, const llvm::APInt& divisor);
  Value DivideSigned(proto::Op op, Value x, Value y);
  Value DivideUnsigned(proto::Op op, Value x, Value y);
  Value Power(Value x, Value y);
  Value ExpandPower(Value x, uint64_t exponent);
  Value Shift(proto::Op op, Value x, Value y);
  Value FloatExtreme(bool min, Value x, Value y);
  Value Extreme(proto::Op op, Value x, Value y);
  Value Compare(proto::Op op, Value x, Value y);

  // --- Forms of kRows
  template <Value (Emitter::*kEmit)(Value)>
  Value OfX(proto::Op /*op*/, Value x, Value /*y*/) {
    return (this->*kEmit)(x);
  }
  template <Value (Emitter::*kEmit)(Value, Value)>
  Value OfXAndY(proto::Op /*op*/, Value x, Value y) {
    return (this->*kEmit)(x, y);
  }
  template <typename Op>
  Value FloatFunction(proto::Op /*op*/, Value x, Value /*y*/) {
    return F<Op>(x);
  }
  template <typename Op>
  Value CountOfBits(proto::Op /*op*/, Value x, Value /*y*/) {
    return EmitCast(b_, loc_, AsUnsigned(scalar_), proto::I32, b_.createOrFold<Op>(loc_, x),
                    options_);
  }
  template <typename Op>
  Value OfTruths(proto::Op /*op*/, Value x, Value y) {
    return I<Op>(Truth(x), Truth(y));
  }

  // What each op is.
  struct Row;
  static const Row kRows[];
  static constexpr const Row* FindRow(proto::Op op);
  static constexpr bool HasAllRows();

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  Scalar scalar_;
  EmitOptions options_;
  mlir::Type type_;
  unsigned bits_;
  arith::FastMathFlags fast_;
};

Value Emitter::Neg(Value x) {
  // Modulo 2 a number is its own negative.
  if (scalar_ == proto::U1) return x;
  return is_float() ? F<arith::NegFOp>(x) : I<arith::SubIOp>(Number(0), x);
}

Value Emitter::Abs(Value x) {
  if (is_float()) return F<math::AbsFOp>(x);
  return is_signed() ? b_.createOrFold<math::AbsIOp>(loc_, x) : x;
}

// NaN has magnitude bits above infinity's, infinity exactly those.
Value Emitter::ClassOfBits(proto::Op op, Value x, Value /*y*/) {
  if (!is_float()) return EmitConstant(b_, loc_, proto::U1, 0);
  // On bits, not by comparing x with itself: under fast math LLVM assumes that there is no NaN.
  Emitter bits = AsInteger();
  const Value magnitude = I<arith::AndIOp>(ToBits(x), bits.Bits((uint64_t{1} << (bits_ - 1)) - 1));
  return CmpI(op == proto::OP_ISNAN ? CmpIPredicate::ugt : CmpIPredicate::eq, magnitude,
              bits.Bits(exponent_mask()));
}

// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1; zero, infinities and NaN
// are their own mantissa, with exponent 0.
Value Emitter::Frexp(proto::Op op, Value x, Value /*y*/) {
  Emitter bits = AsInteger();
  const int shift = mantissa_bits();
  const uint64_t mask = exponent_mask();
  const int bias = static_cast<int>((mask >> shift) / 2);  // 127 for f32
  // Denormals are scaled into the normal range first.
  const Value raw = ToBits(x);
  const Value is_small =
      CmpI(CmpIPredicate::eq, I<arith::AndIOp>(raw, bits.Bits(mask)), bits.Bits(0));
  // Without fast math, which could treat denormals as zero.
  const Value scaled = ToBits(b_.createOrFold<arith::MulFOp>(
      loc_, x, Number(std::ldexp(1.0, shift + 1)), arith::FastMathFlags::none));
  const Value normal = Select(is_small, scaled, raw);
  const Value exponent_field = I<arith::AndIOp>(normal, bits.Bits(mask));
  const Value magnitude = I<arith::AndIOp>(raw, bits.Bits((uint64_t{1} << (bits_ - 1)) - 1));
  const Value has_exponent = I<arith::AndIOp>(CmpI(CmpIPredicate::ne, magnitude, bits.Bits(0)),
                                              CmpI(CmpIPredicate::ult, magnitude, bits.Bits(mask)));
  if (op == proto::OP_FREXP_MANTISSA) {
    // The exponent field of numbers from 0.5 to below 1.
    const uint64_t half = static_cast<uint64_t>(bias - 1) << shift;
    const Value m =
        I<arith::OrIOp>(I<arith::AndIOp>(normal, bits.Bits(~mask & (~uint64_t{0} >> (64 - bits_)))),
                        bits.Bits(half));
    return Select(has_exponent, b_.createOrFold<arith::BitcastOp>(loc_, type_, m), x);
  }
  const Value field = I<arith::ShRUIOp>(exponent_field, bits.Bits(shift));
  Emitter i32(b_, loc_, proto::I32, options_);
  const Value e = EmitCast(b_, loc_, bits.scalar_, proto::I32, field, options_);
  const Value offset = i32.Select(is_small, i32.Number(bias - 1 + shift + 1), i32.Number(bias - 1));
  return i32.Select(has_exponent, i32.I<arith::SubIOp>(e, offset), i32.Number(0));
}

Value Emitter::Arithmetic(proto::Op op, Value x, Value y) {
  const bool f = is_float();
  switch (op) {
    case proto::OP_ADD:
      return f ? F<arith::AddFOp>(x, y) : I<arith::AddIOp>(x, y);
    case proto::OP_SUB:
      return f ? F<arith::SubFOp>(x, y) : I<arith::SubIOp>(x, y);
    default:
      return f ? F<arith::MulFOp>(x, y) : I<arith::MulIOp>(x, y);
  }
}

Value Emitter::Divide(proto::Op op, Value x, Value y) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  if (is_float()) {
    // C's fmod: the sign is that of x. Python's modulo below has the sign of y.
    if (op == proto::OP_RAW_MOD) return F<arith::RemFOp>(x, y);
    const Value quotient = F<arith::DivFOp>(x, y);
    if (op == proto::OP_RAW_DIV || op == proto::OP_TRUEDIV) return quotient;
    const Value floor = F<math::FloorOp>(quotient);
    return remainder ? F<arith::SubFOp>(x, F<arith::MulFOp>(floor, y)) : floor;
  }
  llvm::APInt divisor;
  if (mlir::matchPattern(y, mlir::m_ConstantInt(&divisor))) {
    // Division by zero is defined: integers give 0, in every kernel and on every target.
    if (divisor.isZero()) return Number(0);
    // Negative constants are rare, and take the general way.
    if (!is_signed() || divisor.isStrictlyPositive()) return DivideByConstant(op, x, divisor);
  }
  return is_signed() ? DivideSigned(op, x, y) : DivideUnsigned(op, x, y);
}

// A positive divisor needs no checks. Rounding down: for negative x,
// floor(x / d) = ~(~x / d), where ~x is not negative.
Value Emitter::DivideByConstant(proto::Op op, Value x, const llvm::APInt& divisor) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  const bool floor = op == proto::OP_FLOORDIV || op == proto::OP_MOD;
  const Value y = Bits(divisor.getZExtValue());
  if (is_signed() && !floor) {
    return remainder ? I<arith::RemSIOp>(x, y) : I<arith::DivSIOp>(x, y);
  }
  // Shifts and masks round down for negative x as well, just as floor division does.
  if (divisor.isPowerOf2()) {
    if (remainder) return I<arith::AndIOp>(x, Bits(divisor.getZExtValue() - 1));
    const Value count = Bits(divisor.logBase2());
    return is_signed() ? I<arith::ShRSIOp>(x, count) : I<arith::ShRUIOp>(x, count);
  }
  if (!is_signed()) return remainder ? I<arith::RemUIOp>(x, y) : I<arith::DivUIOp>(x, y);
  // All ones for negative x, so that XOr is the complement or nothing.
  const Value sign = I<arith::ShRSIOp>(x, Bits(bits_ - 1));
  const Value quotient = I<arith::XOrIOp>(I<arith::DivUIOp>(I<arith::XOrIOp>(x, sign), y), sign);
  return remainder ? I<arith::SubIOp>(x, I<arith::MulIOp>(quotient, y)) : quotient;
}

// Divisors 0 and -1 can trap: they are replaced by 1, and the result is corrected.
Value Emitter::DivideSigned(proto::Op op, Value x, Value y) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  const bool floor = op == proto::OP_FLOORDIV || op == proto::OP_MOD;
  const Value zero = Number(0);
  const Value is_zero = CmpI(CmpIPredicate::eq, y, zero);
  const Value is_minus_one = CmpI(CmpIPredicate::eq, y, Number(-1));
  const Value safe = Select(I<arith::OrIOp>(is_zero, is_minus_one), Number(1), y);
  const Value quotient = I<arith::DivSIOp>(x, safe);
  const Value rest = I<arith::SubIOp>(x, I<arith::MulIOp>(quotient, safe));
  // The remainder of a division by 1 is 0, which is correct for both.
  // Rest and divisor have different signs: truncation has rounded up.
  const Value differs = CmpI(CmpIPredicate::slt, I<arith::XOrIOp>(rest, safe), zero);
  const Value round_down = I<arith::AndIOp>(CmpI(CmpIPredicate::ne, rest, zero), differs);
  if (remainder) {
    return floor ? I<arith::AddIOp>(rest, Select(round_down, safe, zero)) : rest;
  }
  const Value rounded =
      floor ? I<arith::AddIOp>(quotient, Select(round_down, Number(-1), zero)) : quotient;
  return Select(is_zero, zero, Select(is_minus_one, I<arith::SubIOp>(zero, x), rounded));
}

Value Emitter::DivideUnsigned(proto::Op op, Value x, Value y) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  const Value zero = Number(0);
  const Value is_zero = CmpI(CmpIPredicate::eq, y, zero);
  const Value safe = Select(is_zero, Number(1), y);
  return Select(is_zero, zero, remainder ? I<arith::RemUIOp>(x, safe) : I<arith::DivUIOp>(x, safe));
}

// x^exponent by repeated squaring; exponent > 0.
Value Emitter::ExpandPower(Value x, uint64_t exponent) {
  Value result;
  for (Value square = x;; square = Arithmetic(proto::OP_MUL, square, square)) {
    if (exponent & 1) result = result ? Arithmetic(proto::OP_MUL, result, square) : square;
    exponent >>= 1;
    if (exponent == 0) return result;
  }
}

// Integers: x^|y|, wrapping. Floats: as pow(3).
Value Emitter::Power(Value x, Value y) {
  if (!is_float()) {
    llvm::APInt constant;
    if (mlir::matchPattern(y, mlir::m_ConstantInt(&constant))) {
      const llvm::APInt magnitude = is_signed() ? constant.abs() : constant;
      // Also for 0 ** 0, as in Python.
      if (magnitude.isZero()) return Number(1);
      if (magnitude.ule(kMaxExpandedPower)) return ExpandPower(x, magnitude.getZExtValue());
    }
    return b_.createOrFold<math::IPowIOp>(loc_, x, Abs(y));
  }
  llvm::APFloat constant(0.0);
  if (mlir::matchPattern(y, mlir::m_ConstantFloat(&constant))) {
    bool exact;
    // To f64, which has every value of the narrower types.
    constant.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
    const double exponent = constant.convertToDouble();
    if (exponent == 0) return Number(1);
    if (exponent == std::floor(exponent) && std::fabs(exponent) <= kMaxExpandedPower) {
      const Value power = ExpandPower(x, static_cast<uint64_t>(std::fabs(exponent)));
      return exponent > 0 ? power : F<arith::DivFOp>(Number(1), power);
    }
    // Precisely, pow(-0.0, 0.5) is +0 and pow(-inf, 0.5) is +inf; sqrt's are not.
    if (exponent == 0.5 && options_.fast_math) return F<math::SqrtOp>(x);
  } else if (auto cast = y.getDefiningOp<arith::SIToFPOp>();
             cast && options_.fast_math && cast.getIn().getType().isInteger(32)) {
    // An integer that is not constant: multiplications are faster than pow, but round otherwise.
    return F<math::FPowIOp>(x, cast.getIn());
  }
  return F<math::PowFOp>(x, y);
}

Value Emitter::Shift(proto::Op op, Value x, Value y) {
  if (scalar_ == proto::U1) return x;  // modulo width 1: by nothing
  if (bits_ < 32) {
    // In 32 bits, as in C: bytes that are shifted by 8 are 0.
    const Scalar from = op == proto::OP_SHR ? scalar_ : AsUnsigned(scalar_);
    const Scalar wide = IsSignedInt(from) ? proto::I32 : proto::U32;
    const auto widen = [&](Value v) { return EmitCast(b_, loc_, from, wide, v, options_); };
    const Value shifted = Emitter(b_, loc_, wide, options_).Shift(op, widen(x), widen(y));
    return EmitCast(b_, loc_, wide, scalar_, shifted, options_);
  }
  // Modulo the width, as processors do it: a larger count would be poison.
  const Value count = I<arith::AndIOp>(y, Number(bits_ - 1));
  if (op == proto::OP_SHL) return I<arith::ShLIOp>(x, count);
  return op == proto::OP_SHR && is_signed() ? I<arith::ShRSIOp>(x, count)
                                            : I<arith::ShRUIOp>(x, count);
}

Value Emitter::Compare(proto::Op op, Value x, Value y) {
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
  if (is_float()) return CmpF(row.floats, x, y);
  return CmpI(is_signed() ? row.signed_ints : row.unsigned_ints, x, y);
}

// If one operand is NaN, the result is the other one. With a constant this is a compare and a
// select; MLIR would fold minima of infinities as if there were no NaNs.
Value Emitter::FloatExtreme(bool min, Value x, Value y) {
  llvm::APFloat constant(0.0);
  if (mlir::matchPattern(x, mlir::m_ConstantFloat(&constant))) std::swap(x, y);
  if (mlir::matchPattern(y, mlir::m_ConstantFloat(&constant))) {
    if (constant.isNaN()) return x;
    return Select(CmpF(min ? CmpFPredicate::OLT : CmpFPredicate::OGT, x, y), x, y);
  }
  return min ? F<arith::MinNumFOp>(x, y) : F<arith::MaxNumFOp>(x, y);
}

Value Emitter::Extreme(proto::Op op, Value x, Value y) {
  const bool min = op == proto::OP_MIN;
  if (is_float()) return FloatExtreme(min, x, y);
  if (is_signed()) return min ? I<arith::MinSIOp>(x, y) : I<arith::MaxSIOp>(x, y);
  return min ? I<arith::MinUIOp>(x, y) : I<arith::MaxUIOp>(x, y);
}

struct Emitter::Row {
  proto::Op op;
  // `y` of unary ops is null.
  Value (Emitter::*emit)(proto::Op op, Value x, Value y);
};

constexpr Emitter::Row Emitter::kRows[] = {
    {proto::OP_NEG, &Emitter::OfX<&Emitter::Neg>},
    {proto::OP_ABS, &Emitter::OfX<&Emitter::Abs>},
    {proto::OP_SQRT, &Emitter::FloatFunction<math::SqrtOp>},
    {proto::OP_RSQRT, &Emitter::OfX<&Emitter::ReciprocalRoot>},
    {proto::OP_SIN, &Emitter::FloatFunction<math::SinOp>},
    {proto::OP_COS, &Emitter::FloatFunction<math::CosOp>},
    {proto::OP_TAN, &Emitter::FloatFunction<math::TanOp>},
    {proto::OP_ASIN, &Emitter::FloatFunction<math::AsinOp>},
    {proto::OP_ACOS, &Emitter::FloatFunction<math::AcosOp>},
    {proto::OP_TANH, &Emitter::FloatFunction<math::TanhOp>},
    {proto::OP_EXP, &Emitter::FloatFunction<math::ExpOp>},
    {proto::OP_LOG, &Emitter::FloatFunction<math::LogOp>},
    {proto::OP_FLOOR, &Emitter::FloatFunction<math::FloorOp>},
    {proto::OP_CEIL, &Emitter::FloatFunction<math::CeilOp>},
    {proto::OP_ROUND, &Emitter::FloatFunction<math::RoundOp>},
    {proto::OP_FREXP_MANTISSA, &Emitter::Frexp},
    {proto::OP_FREXP_EXPONENT, &Emitter::Frexp},
    {proto::OP_BIT_NOT, &Emitter::OfX<&Emitter::BitNot>},
    {proto::OP_LOGICAL_NOT, &Emitter::OfX<&Emitter::LogicalNot>},
    {proto::OP_POPCNT, &Emitter::CountOfBits<math::CtPopOp>},
    {proto::OP_CLZ, &Emitter::CountOfBits<math::CountLeadingZerosOp>},
    {proto::OP_ISNAN, &Emitter::ClassOfBits},
    {proto::OP_ISINF, &Emitter::ClassOfBits},

    {proto::OP_ADD, &Emitter::Arithmetic},
    {proto::OP_SUB, &Emitter::Arithmetic},
    {proto::OP_MUL, &Emitter::Arithmetic},
    {proto::OP_TRUEDIV, &Emitter::Divide},
    {proto::OP_FLOORDIV, &Emitter::Divide},
    {proto::OP_MOD, &Emitter::Divide},
    {proto::OP_RAW_DIV, &Emitter::Divide},
    {proto::OP_RAW_MOD, &Emitter::Divide},
    {proto::OP_POW, &Emitter::OfXAndY<&Emitter::Power>},
    {proto::OP_ATAN2, &Emitter::OfXAndY<&Emitter::F<math::Atan2Op>>},
    {proto::OP_MIN, &Emitter::Extreme},
    {proto::OP_MAX, &Emitter::Extreme},
    {proto::OP_SHL, &Emitter::Shift},
    {proto::OP_SHR, &Emitter::Shift},
    {proto::OP_BIT_SHR, &Emitter::Shift},
    {proto::OP_BIT_AND, &Emitter::OfXAndY<&Emitter::I<arith::AndIOp>>},
    {proto::OP_BIT_OR, &Emitter::OfXAndY<&Emitter::I<arith::OrIOp>>},
    {proto::OP_BIT_XOR, &Emitter::OfXAndY<&Emitter::I<arith::XOrIOp>>},
    {proto::OP_LOGICAL_AND, &Emitter::OfTruths<arith::AndIOp>},
    {proto::OP_LOGICAL_OR, &Emitter::OfTruths<arith::OrIOp>},

    {proto::OP_LT, &Emitter::Compare},
    {proto::OP_LE, &Emitter::Compare},
    {proto::OP_GT, &Emitter::Compare},
    {proto::OP_GE, &Emitter::Compare},
    {proto::OP_EQ, &Emitter::Compare},
    {proto::OP_NE, &Emitter::Compare},
};

constexpr const Emitter::Row* Emitter::FindRow(proto::Op op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

// Whether each op of one or two scalars of one type has a row. The others are in EmitTernary,
// EmitCast and EmitBitCast, or in handlers of nodes.
constexpr bool Emitter::HasAllRows() {
  for (const OpInfo& info : kOps) {
    const bool is_here = info.family == proto::FAMILY_UNARY ||
                         info.family == proto::FAMILY_BINARY ||
                         info.family == proto::FAMILY_COMPARE;
    if (is_here && info.op != proto::OP_MATMUL && FindRow(info.op) == nullptr) return false;
  }
  return true;
}

Value Emitter::Apply(proto::Op op, Value x, Value y) {
  static_assert(HasAllRows(), "an op of proto/op.proto has no row in kRows");
  const Row* row = FindRow(op);
  KILN_CHECK(row != nullptr) << "op " << op << " is not of one or two scalars";
  return (this->*row->emit)(op, x, y);
}

// Converts this float to a signed integer of 32 or 64 bits. NaN, and what does not fit, becomes the
// lowest one, as on x86. The lowest one itself does not pass the test, with the same result.
Value Emitter::ToInteger(Value x, Scalar to) {
  Emitter integer(b_, loc_, to, options_);
  const uint64_t lowest = uint64_t{1} << (integer.bits_ - 1);
  const Value fits =
      CmpF(CmpFPredicate::OLT, F<math::AbsFOp>(x), Number(std::ldexp(1.0, integer.bits_ - 1)));
  return integer.Select(fits, b_.createOrFold<arith::FPToSIOp>(loc_, integer.type_, x),
                        integer.Bits(lowest));
}

// The same for u32 and u64. The upper half, which the signed type does not hold, is shifted down
// and back; everything else is as for the signed type.
Value Emitter::ToUnsigned(Value x, Scalar to) {
  const Scalar as_signed = to == proto::U32 ? proto::I32 : proto::I64;
  const Value half = Number(std::ldexp(1.0, ScalarBits(to) - 1));
  const Value upper = CmpF(CmpFPredicate::OGE, x, half);
  // Exact, as both are multiples of the same power of two.
  const Value shifted = b_.createOrFold<arith::SubFOp>(loc_, x, half, arith::FastMathFlags::none);
  const Value low = ToInteger(Select(upper, shifted, x), as_signed);
  const Value top = EmitConstant(b_, loc_, to, uint64_t{1} << (ScalarBits(to) - 1));
  return b_.createOrFold<arith::OrIOp>(loc_, low,
                                       Select(upper, top, EmitConstant(b_, loc_, to, 0)));
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

mlir::Type ValueType(mlir::MLIRContext* context, Scalar scalar) {
  switch (scalar) {
    case proto::F16:
      return mlir::Float16Type::get(context);
    case proto::F32:
      return mlir::Float32Type::get(context);
    case proto::F64:
      return mlir::Float64Type::get(context);
    default:
      return mlir::IntegerType::get(context, ScalarBits(scalar));
  }
}

// A byte for u1: no smaller unit has an address.
mlir::Type MemoryType(mlir::MLIRContext* context, Scalar scalar) {
  return scalar == proto::U1 ? mlir::IntegerType::get(context, 8) : ValueType(context, scalar);
}

Value EmitConstant(mlir::OpBuilder& b, mlir::Location loc, Scalar scalar, uint64_t bits) {
  const mlir::Type type = ValueType(b.getContext(), scalar);
  const llvm::APInt value(64, bits);
  if (auto f = llvm::dyn_cast<mlir::FloatType>(type)) {
    // From the bits, so that NaNs and signed zeros stay what they are.
    const llvm::APFloat number(f.getFloatSemantics(), value.trunc(f.getWidth()));
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(f, number));
  }
  const unsigned width = type.getIntOrFloatBitWidth();
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value.zextOrTrunc(width)));
}

Value EmitNumber(mlir::OpBuilder& b, mlir::Location loc, Scalar scalar, double value) {
  const mlir::Type type = ValueType(b.getContext(), scalar);
  if (llvm::isa<mlir::FloatType>(type)) {
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value));
  }
  // Two ways, since neither integer type has the values of the other.
  const uint64_t bits =
      value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  return EmitConstant(b, loc, scalar, bits);
}

Value EmitUnary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, Scalar scalar, Value x,
                const EmitOptions& options) {
  if (scalar == proto::F16 && !HalfIsEnough(op)) {
    const Value wide = EmitCast(b, loc, proto::F16, proto::F32, x, options);
    const Value result = Emitter(b, loc, proto::F32, options).Apply(op, wide, {});
    return EmitCast(b, loc, proto::F32, proto::F16, result, options);
  }
  return Emitter(b, loc, scalar, options).Apply(op, x, {});
}

Value EmitBinary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, Scalar scalar, Value x,
                 Value y, const EmitOptions& options) {
  if (scalar == proto::F16 && !HalfIsEnough(op)) {
    const Value result =
        EmitBinary(b, loc, op, proto::F32, EmitCast(b, loc, scalar, proto::F32, x, options),
                   EmitCast(b, loc, scalar, proto::F32, y, options), options);
    return EmitCast(b, loc, proto::F32, proto::F16, result, options);
  }
  return Emitter(b, loc, scalar, options).Apply(op, x, y);
}

Value EmitTernary(mlir::OpBuilder& b, mlir::Location loc, proto::Op op, Scalar scalar,
                  Value condition, Value x, Value y, const EmitOptions& options) {
  KILN_CHECK(op == proto::OP_SELECT) << "no ternary op " << op;
  return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
}

Value EmitCast(mlir::OpBuilder& b, mlir::Location loc, Scalar from, Scalar to, Value x,
               const EmitOptions& options) {
  if (from == to) return x;
  Emitter e(b, loc, from, options);
  // Not zero is true: taking the lowest bit would make 2 false.
  if (to == proto::U1) return e.Truth(x);
  const mlir::Type type = ValueType(b.getContext(), to);
  const int from_bits = ScalarBits(from), to_bits = ScalarBits(to);
  if (IsFloat(from) && IsFloat(to)) {
    return to_bits > from_bits ? b.createOrFold<arith::ExtFOp>(loc, type, x)
                               : b.createOrFold<arith::TruncFOp>(loc, type, x);
  }
  if (IsFloat(to)) {
    return IsSignedInt(from) ? b.createOrFold<arith::SIToFPOp>(loc, type, x)
                             : b.createOrFold<arith::UIToFPOp>(loc, type, x);
  }
  if (!IsFloat(from)) {
    if (to_bits < from_bits) return b.createOrFold<arith::TruncIOp>(loc, type, x);
    // The same bits: types of the IR have no sign.
    if (to_bits == from_bits) return x;
    return IsSignedInt(from) ? b.createOrFold<arith::ExtSIOp>(loc, type, x)
                             : b.createOrFold<arith::ExtUIOp>(loc, type, x);
  }
  if (from == proto::F16) {
    return EmitCast(b, loc, proto::F32, to, b.createOrFold<arith::ExtFOp>(loc, b.getF32Type(), x),
                    options);
  }
  if (to == proto::U32 || to == proto::U64) return e.ToUnsigned(x, to);
  const Scalar through = to_bits == 64 ? proto::I64 : proto::I32;
  return EmitCast(b, loc, through, to, e.ToInteger(x, through), options);
}

Value EmitBitCast(mlir::OpBuilder& b, mlir::Location loc, Scalar from, Scalar to, Value x) {
  KILN_CHECK(ScalarBits(from) == ScalarBits(to)) << "widths of a bit cast differ";
  const mlir::Type type = ValueType(b.getContext(), to);
  return x.getType() == type ? x : b.createOrFold<arith::BitcastOp>(loc, type, x);
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
