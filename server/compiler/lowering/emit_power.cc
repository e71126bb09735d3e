#include "server/compiler/lowering/emit_power.h"

#include <cmath>
#include <cstdint>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace kiln {
namespace {

using mlir::Value;
namespace arith = mlir::arith;
namespace math = mlir::math;

// Powers up to this are written out as multiplications.
// At most eight of them, for 31: four squares and four products. A call costs more than that.
constexpr int64_t kMaxExpandedPower = 32;

// x^exponent by repeated squaring; exponent > 0.
Value ExpandPower(const ScalarBuilder& s, Value x, uint64_t exponent) {
  Value result;
  for (Value square = x;; square = s.Mul(square, square)) {
    if (exponent & 1) result = result ? s.Mul(result, square) : square;
    exponent >>= 1;
    if (exponent == 0) return result;
  }
}

}  // namespace

Value EmitPower(const ScalarBuilder& s, Value x, Value y) {
  if (!s.is_float()) {
    llvm::APInt constant;
    if (mlir::matchPattern(y, mlir::m_ConstantInt(&constant))) {
      const llvm::APInt magnitude = s.is_signed() ? constant.abs() : constant;
      // Also for 0 ** 0, as in Python.
      if (magnitude.isZero()) return s.Number(1);
      if (magnitude.ule(kMaxExpandedPower)) return ExpandPower(s, x, magnitude.getZExtValue());
    }
    return s.Fold<math::IPowIOp>(x, s.Abs(y));
  }
  llvm::APFloat constant(0.0);
  if (mlir::matchPattern(y, mlir::m_ConstantFloat(&constant))) {
    bool exact;
    // To f64, which has every value of the narrower types.
    constant.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
    const double exponent = constant.convertToDouble();
    if (exponent == 0) return s.Number(1);
    if (exponent == std::floor(exponent) && std::fabs(exponent) <= kMaxExpandedPower) {
      const Value power = ExpandPower(s, x, static_cast<uint64_t>(std::fabs(exponent)));
      return exponent > 0 ? power : s.F<arith::DivFOp>(s.Number(1), power);
    }
    // Precisely, pow(-0.0, 0.5) is +0 and pow(-inf, 0.5) is +inf; sqrt's are not.
    if (exponent == 0.5 && s.fast_math()) return s.F<math::SqrtOp>(x);
  } else if (auto cast = y.getDefiningOp<arith::SIToFPOp>();
             cast && s.fast_math() && cast.getIn().getType().isInteger(32)) {
    // An integer that is not constant: multiplications are faster than pow, but round otherwise.
    return s.F<math::FPowIOp>(x, cast.getIn());
  }
  return s.F<math::PowFOp>(x, y);
}

}  // namespace kiln
