#include "server/compiler/autodiff/extreme.h"

#include <cmath>

#include "server/compiler/autodiff/flow.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Value;

// Levels of an expression that Magnitude and IsExact look through.
constexpr int kDepth = 8;

// What values that differ only by rounding may differ by, relative to their terms: 64 units in the
// last place of f16 and f32. Terms near a pole, and terms that a loop computes, may differ by far
// more. Doubles have digits to spare for these: two distinct candidates are hardly ever as close.
double Tolerance(mlir::Type type) {
  if (type.isF64()) return std::ldexp(1.0, -30);
  const auto& semantics = llvm::cast<mlir::FloatType>(type).getFloatSemantics();
  const int digits = static_cast<int>(llvm::APFloat::semanticsPrecision(semantics));
  return std::ldexp(1.0, std::min(7 - digits, -4));
}

class Comparison {
 public:
  Comparison(mlir::OpBuilder& b, mlir::Location loc, llvm::function_ref<Value(Value)> value_of)
      : b_(b), loc_(loc), value_of_(value_of) {}

  // The sum of the absolute terms: what rounding errors of the value are relative to.
  Value Magnitude(Value primal, int depth) {
    mlir::Operation* op = primal.getDefiningOp();
    if (op != nullptr && depth > 0) {
      const auto operand = [&](unsigned i) { return Magnitude(op->getOperand(i), depth - 1); };
      if (llvm::isa<arith::AddFOp, arith::SubFOp>(op))
        return F<arith::AddFOp>(operand(0), operand(1));
      if (llvm::isa<arith::MulFOp>(op)) return F<arith::MulFOp>(operand(0), operand(1));
      if (llvm::isa<arith::DivFOp>(op)) return F<arith::DivFOp>(operand(0), Abs(op->getOperand(1)));
      if (llvm::isa<arith::NegFOp, math::AbsFOp>(op)) return operand(0);
    }
    return Abs(primal);
  }

  Value Abs(Value primal) { return F<math::AbsFOp>(value_of_(primal)); }

  template <typename Op, typename... Args>
  Value F(Args... operands) {
    return b_.createOrFold<Op>(loc_, operands...);
  }

 private:
  mlir::OpBuilder& b_;
  const mlir::Location loc_;
  llvm::function_ref<Value(Value)> value_of_;
};

}  // namespace

bool IsExtremeAtomic(mlir::Operation* op) {
  auto atomic = llvm::dyn_cast<ir::AtomicOp>(op);
  return atomic &&
         (atomic.getKind() == ir::AtomicKind::minf || atomic.getKind() == ir::AtomicKind::maxf);
}

bool WinnerTest::IsWritten(Value address) {
  if (!written_) {
    written_.emplace();
    kernel_->walk([&](mlir::Operation* op) {
      for (Value written : EffectsOf(op).writes) {
        const MemoryClass cells = ClassOf(written);
        if (!LocalOf(written) && !llvm::is_contained(*written_, cells)) written_->push_back(cells);
      }
    });
  }
  const MemoryClass cells = ClassOf(address);
  return llvm::any_of(*written_, [&](const MemoryClass& w) { return MayOverlap(cells, w); });
}

// Whether no operation between memory and the value rounds more than once or can be contracted.
bool WinnerTest::IsExact(Value primal, int depth) {
  if (!llvm::isa<mlir::FloatType>(primal.getType())) return true;
  mlir::Operation* op = primal.getDefiningOp();
  if (op == nullptr || depth == 0) return false;
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
    return !LocalOf(load.getAddress()) && !IsWritten(load.getAddress());
  }
  return llvm::isa<arith::ConstantOp, arith::NegFOp, math::AbsFOp, arith::SelectOp, arith::ExtFOp,
                   arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value v) { return IsExact(v, depth - 1); });
}

Value WinnerTest::IsWinner(mlir::OpBuilder& b, Value primal, Value in_memory,
                           llvm::function_ref<Value(Value)> value_of) {
  const mlir::Location loc = primal.getLoc();
  const mlir::Type type = primal.getType();
  Comparison c(b, loc, value_of);
  const Value value = value_of(primal);
  const Value is_equal = c.F<arith::CmpFOp>(arith::CmpFPredicate::OEQ, value, in_memory);
  if (IsExact(primal, kDepth)) return is_equal;
  const Value tolerance = b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, Tolerance(type)));
  const Value bound = c.F<arith::MulFOp>(c.Magnitude(primal, kDepth), tolerance);
  const Value error = c.F<math::AbsFOp>(c.F<arith::SubFOp>(value, in_memory));
  const Value is_close = c.F<arith::CmpFOp>(arith::CmpFPredicate::OLE, error, bound);
  return c.F<arith::OrIOp>(is_close, is_equal);  // the latter is for infinities
}

}  // namespace kiln
