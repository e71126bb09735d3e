#include "server/compiler/autodiff/derivatives.h"

#include "server/compiler/dialect/dialect.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Value;

// Emits floats of one type, at one place.
//
// The ops of a rule have no fast-math flags but contraction and reassociation: with the flags that
// ignore NaN or the sign of zero, LLVM would fold the comparisons that make zeros strong.
class Rule {
 public:
  Rule(mlir::OpBuilder& b, mlir::Operation* op, Value t, llvm::function_ref<Value(Value)> value_of)
      : b_(b), op_(op), t(t), value_of_(value_of) {}

  Value X() { return value_of_(op_->getOperand(0)); }
  Value Y() { return value_of_(op_->getOperand(1)); }
  Value Result() { return value_of_(op_->getResult(0)); }
  Value Operand(unsigned i) { return value_of_(op_->getOperand(i)); }

  Value Number(double value) { return Number(t.getType(), value); }
  Value Number(mlir::Type type, double value) {
    return b_.create<arith::ConstantOp>(op_->getLoc(), b_.getFloatAttr(type, value));
  }

  template <typename Op, typename... Args>
  Value F(Args... operands) {
    return b_.createOrFold<Op>(op_->getLoc(), operands...);
  }
  Value Add(Value x, Value y) { return F<arith::AddFOp>(x, y); }
  Value Sub(Value x, Value y) { return F<arith::SubFOp>(x, y); }
  Value Mul(Value x, Value y) { return F<arith::MulFOp>(x, y); }
  Value Div(Value x, Value y) { return F<arith::DivFOp>(x, y); }
  Value Neg(Value x) { return F<arith::NegFOp>(x); }
  Value Compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return F<arith::CmpFOp>(predicate, x, y);
  }
  Value IsLess(Value x, Value y) { return Compare(arith::CmpFPredicate::OLT, x, y); }
  Value IsZero(Value x) { return Compare(arith::CmpFPredicate::OEQ, x, Number(x.getType(), 0)); }
  Value Select(Value condition, Value x, Value y) { return F<arith::SelectOp>(condition, x, y); }

  // t times a factor that may be infinite or NaN: 0 if t is 0.
  Value Strong(Value product) { return StrongProduct(b_, op_->getLoc(), t, product); }

  mlir::OpBuilder& b_;
  mlir::Operation* op_;
  const Value t;

 private:
  llvm::function_ref<Value(Value)> value_of_;
};

Value OfDivision(Rule& r, unsigned operand) {
  const Value by_x = r.Div(r.t, r.Y());
  return r.Strong(operand == 0 ? by_x : r.Neg(r.Mul(by_x, r.Result())));
}

// x % y as fmod: x minus y times the quotient's integer part, which is constant between its steps.
Value OfRemainder(Rule& r, unsigned operand) {
  if (operand == 0) return r.t;
  return r.Strong(r.Mul(r.t, r.Div(r.Sub(r.Result(), r.X()), r.Y())));
}

Value OfMinimum(Rule& r, unsigned operand) {
  const Value left = r.IsLess(r.X(), r.Y());
  return operand == 0 ? r.Select(left, r.t, r.Number(0)) : r.Select(left, r.Number(0), r.t);
}

Value OfMaximum(Rule& r, unsigned operand) {
  const Value left = r.IsLess(r.Y(), r.X());
  return operand == 0 ? r.Select(left, r.t, r.Number(0)) : r.Select(left, r.Number(0), r.t);
}

Value OfAbs(Rule& r) {
  const Value zero = r.Number(0);
  const Value below = r.Select(r.IsLess(r.X(), zero), r.Neg(r.t), zero);
  return r.Select(r.IsLess(zero, r.X()), r.t, below);
}

// d(x**y)/dx = y * x**(y-1), 0 for y = 0 even at x = 0; d/dy = x**y * log(x), 0 at x = 0.
Value OfPower(Rule& r, unsigned operand) {
  if (operand == 0) {
    const Value lower = r.F<math::PowFOp>(r.X(), r.Sub(r.Y(), r.Number(1)));
    return r.Select(r.IsZero(r.Y()), r.Number(0), r.Strong(r.Mul(r.t, r.Mul(r.Y(), lower))));
  }
  const Value slope = r.Mul(r.Result(), r.F<math::LogOp>(r.X()));
  return r.Select(r.IsZero(r.X()), r.Number(0), r.Strong(r.Mul(r.t, slope)));
}

// Of an integer power: n * x**(n-1).
Value OfIntegerPower(Rule& r) {
  const Value n = r.Y();
  const Value one =
      r.b_.create<arith::ConstantOp>(r.op_->getLoc(), r.b_.getIntegerAttr(n.getType(), 1));
  const Value lower = r.F<math::FPowIOp>(r.X(), r.F<arith::SubIOp>(n, one));
  const Value factor = r.F<arith::SIToFPOp>(r.t.getType(), n);
  return r.Select(r.IsZero(factor), r.Number(0), r.Strong(r.Mul(r.t, r.Mul(factor, lower))));
}

Value OfArc(Rule& r, bool negative) {
  const Value root = r.F<math::SqrtOp>(r.Sub(r.Number(1), r.Mul(r.X(), r.X())));
  const Value slope = r.Div(r.t, root);
  return r.Strong(negative ? r.Neg(slope) : slope);
}

Value OfAtan2(Rule& r, unsigned operand) {
  const Value square = r.Add(r.Mul(r.X(), r.X()), r.Mul(r.Y(), r.Y()));
  const Value slope = r.Div(operand == 0 ? r.Y() : r.Neg(r.X()), square);
  return r.Strong(r.Mul(r.t, slope));
}

// To the other type: in reverse mode t is of the result's type, in forward mode of the operand's.
Value OfCast(Rule& r) {
  const mlir::Type from = r.op_->getOperand(0).getType(), to = r.op_->getResult(0).getType();
  const mlir::Type other = r.t.getType() == to ? from : to;
  return other.getIntOrFloatBitWidth() > r.t.getType().getIntOrFloatBitWidth()
             ? r.F<arith::ExtFOp>(other, r.t)
             : r.F<arith::TruncFOp>(other, r.t);
}

using Formula = Value (*)(Rule& r, unsigned operand);

struct Row {
  llvm::StringLiteral op;
  Formula times;
};

// By name, in two groups: arith, math.
constexpr Row kRows[] = {
    {"arith.addf", [](Rule& r, unsigned) { return r.t; }},
    {"arith.subf", [](Rule& r, unsigned i) { return i == 0 ? r.t : r.Neg(r.t); }},
    {"arith.mulf", [](Rule& r, unsigned i) { return r.Mul(r.t, r.Operand(1 - i)); }},
    {"arith.divf", &OfDivision},
    {"arith.remf", &OfRemainder},
    {"arith.negf", [](Rule& r, unsigned) { return r.Neg(r.t); }},
    {"arith.minnumf", &OfMinimum},
    {"arith.maxnumf", &OfMaximum},
    {"arith.extf", [](Rule& r, unsigned) { return OfCast(r); }},
    {"arith.truncf", [](Rule& r, unsigned) { return OfCast(r); }},
    {"arith.select",
     [](Rule& r, unsigned i) {
       const Value condition = r.Operand(0), zero = r.Number(0);
       return i == 1 ? r.Select(condition, r.t, zero) : r.Select(condition, zero, r.t);
     }},
    {"math.absf", [](Rule& r, unsigned) { return OfAbs(r); }},
    {"math.sqrt",
     [](Rule& r, unsigned) { return r.Strong(r.Div(r.Mul(r.t, r.Number(0.5)), r.Result())); }},
    {"math.exp", [](Rule& r, unsigned) { return r.Strong(r.Mul(r.t, r.Result())); }},
    {"math.log", [](Rule& r, unsigned) { return r.Strong(r.Div(r.t, r.X())); }},
    {"math.sin", [](Rule& r, unsigned) { return r.Mul(r.t, r.F<math::CosOp>(r.X())); }},
    {"math.cos", [](Rule& r, unsigned) { return r.Neg(r.Mul(r.t, r.F<math::SinOp>(r.X()))); }},
    {"math.tan",
     [](Rule& r, unsigned) {
       return r.Mul(r.t, r.Add(r.Number(1), r.Mul(r.Result(), r.Result())));
     }},
    {"math.tanh",
     [](Rule& r, unsigned) {
       return r.Mul(r.t, r.Sub(r.Number(1), r.Mul(r.Result(), r.Result())));
     }},
    {"math.asin", [](Rule& r, unsigned) { return OfArc(r, false); }},
    {"math.acos", [](Rule& r, unsigned) { return OfArc(r, true); }},
    {"math.atan2", &OfAtan2},
    {"math.powf", &OfPower},
    {"math.fpowi", [](Rule& r, unsigned) { return OfIntegerPower(r); }},
};

// Steps: zero wherever they have a derivative.
constexpr llvm::StringLiteral kSteps[] = {"math.floor", "math.ceil", "math.round"};

const Row* RowOf(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  const Row* row = llvm::find_if(kRows, [&](const Row& r) { return r.op == name; });
  return row == std::end(kRows) ? nullptr : row;
}

bool IsStep(mlir::Operation* op) {
  return llvm::is_contained(kSteps, op->getName().getStringRef());
}

}  // namespace

bool HasDerivative(mlir::Operation* op) { return RowOf(op) != nullptr || IsStep(op); }

bool IsConstantIn(mlir::Operation* op, unsigned operand) {
  return IsStep(op) || !llvm::isa<mlir::FloatType>(op->getOperand(operand).getType());
}

Value Times(mlir::OpBuilder& b, mlir::Operation* op, unsigned operand, Value t,
            llvm::function_ref<Value(Value)> value_of) {
  Rule rule(b, op, t, value_of);
  return RowOf(op)->times(rule, operand);
}

Value StrongProduct(mlir::OpBuilder& b, mlir::Location loc, Value t, Value product) {
  const auto zero = [&](Value like) {
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(like.getType(), 0));
  };
  const Value is_zero = b.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, t, zero(t));
  const Value made = b.createOrFold<arith::SelectOp>(loc, is_zero, zero(product), product);
  auto select = made.getDefiningOp<arith::SelectOp>();
  if (select) select->setAttr(kStrongZero, b.getUnitAttr());
  return made;
}

}  // namespace kiln
