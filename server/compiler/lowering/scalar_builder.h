// Builds ops of arith and math on values of one scalar type. Private to emit_op.h's files.
#ifndef KILN_SERVER_COMPILER_LOWERING_SCALAR_BUILDER_H_
#define KILN_SERVER_COMPILER_LOWERING_SCALAR_BUILDER_H_

#include <cstdint>
#include <utility>

#include "common/language/type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/lowering/emit_cast.h"
#include "server/compiler/lowering/scalar_value.h"

namespace kiln {

// Operands are of the scalar type, unless said otherwise. All ops fold at once, so that
// matchPattern sees constants in the ops that follow.
class ScalarBuilder {
 public:
  using Value = mlir::Value;

  ScalarBuilder(mlir::OpBuilder& b, mlir::Location loc, Scalar scalar, const EmitOptions& options)
      : b_(b),
        loc_(loc),
        scalar_(scalar),
        options_(options),
        fast_(ir::FloatFlags(options.fast_math)) {}
  // At the same place.
  ScalarBuilder Of(Scalar scalar) const { return ScalarBuilder(b_, loc_, scalar, options_); }
  // Of the integers as wide as this float.
  ScalarBuilder AsInteger() const {
    return Of(bits() == 16 ? proto::U16 : bits() == 32 ? proto::U32 : proto::U64);
  }

  Scalar scalar() const { return scalar_; }
  mlir::Type type() const { return ValueType(b_.getContext(), scalar_); }
  int bits() const { return ScalarBits(scalar_); }
  bool is_float() const { return IsFloat(scalar_); }
  bool is_signed() const { return IsSignedInt(scalar_); }
  bool fast_math() const { return options_.fast_math; }

  template <typename Op, typename... Parts>
  Value Fold(Parts&&... parts) const {
    return b_.createOrFold<Op>(loc_, std::forward<Parts>(parts)...);
  }
  // Ops on floats, with the flags of fast math, and on integers.
  template <typename Op>
  Value F(Value x) const {
    return Fold<Op>(x, fast_);
  }
  template <typename Op>
  Value F(Value x, Value y) const {
    return Fold<Op>(x, y, fast_);
  }
  template <typename Op>
  Value I(Value x, Value y) const {
    return Fold<Op>(x, y);
  }
  Value CmpF(mlir::arith::CmpFPredicate p, Value x, Value y) const {
    return Fold<mlir::arith::CmpFOp>(p, x, y);
  }
  Value CmpI(mlir::arith::CmpIPredicate p, Value x, Value y) const {
    return Fold<mlir::arith::CmpIOp>(p, x, y);
  }
  Value Select(Value c, Value x, Value y) const { return Fold<mlir::arith::SelectOp>(c, x, y); }

  Value Number(double v) const { return EmitNumber(b_, loc_, scalar_, v); }
  Value Bits(uint64_t bits) const { return EmitConstant(b_, loc_, scalar_, bits); }
  // Whether x is not 0, as a u1.
  Value Truth(Value x) const {
    if (scalar_ == proto::U1) return x;
    return is_float() ? CmpF(mlir::arith::CmpFPredicate::UNE, x, Number(0))
                      : CmpI(mlir::arith::CmpIPredicate::ne, x, Number(0));
  }
  Value Abs(Value x) const {
    if (is_float()) return F<mlir::math::AbsFOp>(x);
    return is_signed() ? Fold<mlir::math::AbsIOp>(x) : x;
  }
  Value Mul(Value x, Value y) const {
    return is_float() ? F<mlir::arith::MulFOp>(x, y) : I<mlir::arith::MulIOp>(x, y);
  }
  Value Cast(Scalar from, Scalar to, Value x) const {
    return EmitCast(b_, loc_, from, to, x, options_);
  }

 private:
  mlir::OpBuilder& b_;
  mlir::Location loc_;
  Scalar scalar_;
  EmitOptions options_;
  mlir::arith::FastMathFlags fast_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_SCALAR_BUILDER_H_
