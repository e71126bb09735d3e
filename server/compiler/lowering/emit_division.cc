#include "server/compiler/lowering/emit_division.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace kiln {
namespace {

using mlir::Value;
using mlir::arith::CmpIPredicate;
namespace arith = mlir::arith;
namespace math = mlir::math;

// A positive divisor needs no checks. Rounding down: for negative x,
// floor(x / d) = ~(~x / d), where ~x is not negative.
Value DivideByConstant(const ScalarBuilder& s, proto::Op op, Value x, const llvm::APInt& divisor) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  const bool floor = op == proto::OP_FLOORDIV || op == proto::OP_MOD;
  const Value y = s.Bits(divisor.getZExtValue());
  if (s.is_signed() && !floor) {
    return remainder ? s.I<arith::RemSIOp>(x, y) : s.I<arith::DivSIOp>(x, y);
  }
  // Shifts and masks round down for negative x as well, just as floor division does.
  if (divisor.isPowerOf2()) {
    if (remainder) return s.I<arith::AndIOp>(x, s.Bits(divisor.getZExtValue() - 1));
    const Value count = s.Bits(divisor.logBase2());
    return s.is_signed() ? s.I<arith::ShRSIOp>(x, count) : s.I<arith::ShRUIOp>(x, count);
  }
  if (!s.is_signed()) return remainder ? s.I<arith::RemUIOp>(x, y) : s.I<arith::DivUIOp>(x, y);
  // All ones for negative x, so that XOr is the complement or nothing.
  const Value sign = s.I<arith::ShRSIOp>(x, s.Bits(s.bits() - 1));
  const Value quotient =
      s.I<arith::XOrIOp>(s.I<arith::DivUIOp>(s.I<arith::XOrIOp>(x, sign), y), sign);
  return remainder ? s.I<arith::SubIOp>(x, s.I<arith::MulIOp>(quotient, y)) : quotient;
}

// Divisors 0 and -1 can trap: they are replaced by 1, and the result is corrected.
Value DivideSigned(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  const bool floor = op == proto::OP_FLOORDIV || op == proto::OP_MOD;
  const Value zero = s.Number(0);
  const Value is_zero = s.CmpI(CmpIPredicate::eq, y, zero);
  const Value is_minus_one = s.CmpI(CmpIPredicate::eq, y, s.Number(-1));
  const Value safe = s.Select(s.I<arith::OrIOp>(is_zero, is_minus_one), s.Number(1), y);
  const Value quotient = s.I<arith::DivSIOp>(x, safe);
  const Value rest = s.I<arith::SubIOp>(x, s.I<arith::MulIOp>(quotient, safe));
  // The remainder of a division by 1 is 0, which is correct for both.
  // Rest and divisor have different signs: truncation has rounded up.
  const Value differs = s.CmpI(CmpIPredicate::slt, s.I<arith::XOrIOp>(rest, safe), zero);
  const Value round_down = s.I<arith::AndIOp>(s.CmpI(CmpIPredicate::ne, rest, zero), differs);
  if (remainder) {
    return floor ? s.I<arith::AddIOp>(rest, s.Select(round_down, safe, zero)) : rest;
  }
  const Value rounded =
      floor ? s.I<arith::AddIOp>(quotient, s.Select(round_down, s.Number(-1), zero)) : quotient;
  return s.Select(is_zero, zero, s.Select(is_minus_one, s.I<arith::SubIOp>(zero, x), rounded));
}

Value DivideUnsigned(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  const Value zero = s.Number(0);
  const Value is_zero = s.CmpI(CmpIPredicate::eq, y, zero);
  const Value safe = s.Select(is_zero, s.Number(1), y);
  return s.Select(is_zero, zero,
                  remainder ? s.I<arith::RemUIOp>(x, safe) : s.I<arith::DivUIOp>(x, safe));
}

// x minus the product of y and the quotient, which is rounded down. Fast math lets the processor
// fuse product and difference, and a fused product is exact: if the quotient was rounded up to a
// whole number, the remainder would have the other sign than y, as -1.5e-8 for 1 % 0.1. A product
// that is bounded by x, and so rounded first, leaves 0.
Value FloatRemainder(const ScalarBuilder& s, Value x, Value y, Value floor) {
  using arith::CmpFPredicate;
  Value product = s.F<arith::MulFOp>(floor, y);
  if (s.fast_math()) {
    const Value is_negative = s.CmpF(CmpFPredicate::OLT, y, s.Number(0));
    const Value is_beyond = s.Select(is_negative, s.CmpF(CmpFPredicate::OLT, product, x),
                                     s.CmpF(CmpFPredicate::OGT, product, x));
    product = s.Select(is_beyond, x, product);
  }
  return s.F<arith::SubFOp>(x, product);
}

}  // namespace

Value EmitDivision(const ScalarBuilder& s, proto::Op op, Value x, Value y) {
  const bool remainder = op == proto::OP_MOD || op == proto::OP_RAW_MOD;
  if (s.is_float()) {
    // C's fmod: the sign is that of x. Python's modulo below has the sign of y.
    if (op == proto::OP_RAW_MOD) return s.F<arith::RemFOp>(x, y);
    const Value quotient = s.F<arith::DivFOp>(x, y);
    if (op == proto::OP_RAW_DIV || op == proto::OP_TRUEDIV) return quotient;
    const Value floor = s.F<math::FloorOp>(quotient);
    return remainder ? FloatRemainder(s, x, y, floor) : floor;
  }
  llvm::APInt divisor;
  if (mlir::matchPattern(y, mlir::m_ConstantInt(&divisor))) {
    // Division by zero is defined: integers give 0, in every kernel and on every target.
    if (divisor.isZero()) return s.Number(0);
    // Negative constants are rare, and take the general way.
    if (!s.is_signed() || divisor.isStrictlyPositive()) return DivideByConstant(s, op, x, divisor);
  }
  return s.is_signed() ? DivideSigned(s, op, x, y) : DivideUnsigned(s, op, x, y);
}

}  // namespace kiln
