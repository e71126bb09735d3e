#include "server/compiler/lowering/float_bits.h"

#include <cmath>
#include <cstdint>

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln {
namespace {

using mlir::Value;
using mlir::arith::CmpIPredicate;
namespace arith = mlir::arith;

Value ToBits(const ScalarBuilder& s, Value x) {
  return s.Fold<arith::BitcastOp>(s.AsInteger().type(), x);
}

int MantissaBits(const ScalarBuilder& s) { return s.bits() == 16 ? 10 : s.bits() == 32 ? 23 : 52; }

// All bits but the sign.
uint64_t MagnitudeMask(const ScalarBuilder& s) { return (uint64_t{1} << (s.bits() - 1)) - 1; }

uint64_t ExponentMask(const ScalarBuilder& s) {
  return MagnitudeMask(s) & ~((uint64_t{1} << MantissaBits(s)) - 1);
}

}  // namespace

// NaN has magnitude bits above infinity's, infinity exactly those.
Value EmitClass(const ScalarBuilder& s, proto::Op op, Value x) {
  if (!s.is_float()) return s.Of(proto::U1).Bits(0);
  // On bits, not by comparing x with itself: under fast math LLVM assumes that there is no NaN.
  const ScalarBuilder bits = s.AsInteger();
  const Value magnitude = s.I<arith::AndIOp>(ToBits(s, x), bits.Bits(MagnitudeMask(s)));
  return s.CmpI(op == proto::OP_ISNAN ? CmpIPredicate::ugt : CmpIPredicate::eq, magnitude,
                bits.Bits(ExponentMask(s)));
}

Value EmitFrexp(const ScalarBuilder& s, proto::Op op, Value x) {
  const ScalarBuilder bits = s.AsInteger();
  const int shift = MantissaBits(s);
  const uint64_t mask = ExponentMask(s);
  const int bias = static_cast<int>((mask >> shift) / 2);  // 127 for f32
  // Denormals are scaled into the normal range first.
  const Value raw = ToBits(s, x);
  const Value is_small =
      s.CmpI(CmpIPredicate::eq, s.I<arith::AndIOp>(raw, bits.Bits(mask)), bits.Bits(0));
  // Without fast math, which could treat denormals as zero.
  const Value scaled = ToBits(s, s.Fold<arith::MulFOp>(x, s.Number(std::ldexp(1.0, shift + 1)),
                                                       arith::FastMathFlags::none));
  const Value normal = s.Select(is_small, scaled, raw);
  const Value exponent_field = s.I<arith::AndIOp>(normal, bits.Bits(mask));
  const Value magnitude = s.I<arith::AndIOp>(raw, bits.Bits(MagnitudeMask(s)));
  const Value has_exponent =
      s.I<arith::AndIOp>(s.CmpI(CmpIPredicate::ne, magnitude, bits.Bits(0)),
                         s.CmpI(CmpIPredicate::ult, magnitude, bits.Bits(mask)));
  if (op == proto::OP_FREXP_MANTISSA) {
    // The exponent field of numbers from 0.5 to below 1.
    const uint64_t half = static_cast<uint64_t>(bias - 1) << shift;
    const Value m = s.I<arith::OrIOp>(
        s.I<arith::AndIOp>(normal, bits.Bits(~mask & (~uint64_t{0} >> (64 - s.bits())))),
        bits.Bits(half));
    return s.Select(has_exponent, s.Fold<arith::BitcastOp>(s.type(), m), x);
  }
  const Value field = s.I<arith::ShRUIOp>(exponent_field, bits.Bits(shift));
  const ScalarBuilder i32 = s.Of(proto::I32);
  const Value e = s.Cast(bits.scalar(), proto::I32, field);
  const Value offset = i32.Select(is_small, i32.Number(bias - 1 + shift + 1), i32.Number(bias - 1));
  return i32.Select(has_exponent, i32.I<arith::SubIOp>(e, offset), i32.Number(0));
}

}  // namespace kiln
