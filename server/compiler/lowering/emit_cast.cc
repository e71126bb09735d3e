#include "server/compiler/lowering/emit_cast.h"

#include <cmath>
#include <cstdint>

#include "common/base/check.h"
#include "common/language/type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "server/compiler/lowering/scalar_builder.h"

namespace kiln {
namespace {

using mlir::Value;
using mlir::arith::CmpFPredicate;
namespace arith = mlir::arith;
namespace math = mlir::math;

// Converts this float to a signed integer of 32 or 64 bits. NaN, and what does not fit, becomes the
// lowest one, as on x86. The lowest one itself does not pass the test, with the same result.
Value ToInteger(const ScalarBuilder& s, Value x, Scalar to) {
  const ScalarBuilder integer = s.Of(to);
  const uint64_t lowest = uint64_t{1} << (integer.bits() - 1);
  const Value fits = s.CmpF(CmpFPredicate::OLT, s.F<math::AbsFOp>(x),
                            s.Number(std::ldexp(1.0, integer.bits() - 1)));
  return integer.Select(fits, s.Fold<arith::FPToSIOp>(integer.type(), x), integer.Bits(lowest));
}

// The same for u32 and u64. The upper half, which the signed type does not hold, is shifted down
// and back; everything else is as for the signed type.
Value ToUnsigned(const ScalarBuilder& s, Value x, Scalar to) {
  const Scalar as_signed = to == proto::U32 ? proto::I32 : proto::I64;
  const Value half = s.Number(std::ldexp(1.0, ScalarBits(to) - 1));
  const Value upper = s.CmpF(CmpFPredicate::OGE, x, half);
  // Exact, as both are multiples of the same power of two.
  const Value shifted = s.Fold<arith::SubFOp>(x, half, arith::FastMathFlags::none);
  const Value low = ToInteger(s, s.Select(upper, shifted, x), as_signed);
  const Value top = s.Of(to).Bits(uint64_t{1} << (ScalarBits(to) - 1));
  return s.Fold<arith::OrIOp>(low, s.Select(upper, top, s.Of(to).Bits(0)));
}

}  // namespace

Value EmitCast(mlir::OpBuilder& b, mlir::Location loc, Scalar from, Scalar to, Value x,
               const EmitOptions& options) {
  if (from == to) return x;
  const ScalarBuilder e(b, loc, from, options);
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
  if (to == proto::U32 || to == proto::U64) return ToUnsigned(e, x, to);
  const Scalar through = to_bits == 64 ? proto::I64 : proto::I32;
  return EmitCast(b, loc, through, to, ToInteger(e, x, through), options);
}

Value EmitBitCast(mlir::OpBuilder& b, mlir::Location loc, Scalar from, Scalar to, Value x) {
  KILN_CHECK(ScalarBits(from) == ScalarBits(to)) << "widths of a bit cast differ";
  const mlir::Type type = ValueType(b.getContext(), to);
  return x.getType() == type ? x : b.createOrFold<arith::BitcastOp>(loc, type, x);
}

}  // namespace kiln
