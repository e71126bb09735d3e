// Bounds from guards: iterations that a task's guard skips leave its range.
//
//   kiln.task.range_for bounds {               kiln.task.range_for bounds {
//     kiln.yield %0, %n                          %upper = min(%n, %m)
//   } body (%i : i32) {                          kiln.yield 1, %upper
//     %a = arith.cmpi sgt, %i, 0        ->     } body (%i : i32) {
//     %b = arith.cmpi slt, %i, %m                kiln.if true { ... }
//     %c = arith.andi %a, %b                     kiln.continue
//     kiln.if %c { ... }                       }
//     kiln.continue
//   }
//
// The guard is the condition of a branch that holds all effects of the body, or that ends the
// iteration before any (`continue`). Comparisons of an index with what is the same in all
// iterations leave the guard; others stay. What remains are plain loads and stores instead of
// masked ones.
//
// Left as they are: indices of 64 bits, whose bounds could overflow, and tasks that draw random
// numbers, since the stream of an iteration follows from its number in the range.
//
// Requires: offloaded level. Guarantees: bounds read nothing that they did not read before.
#include <cstdint>
#include <limits>
#include <optional>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/invariants.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using arith::CmpIPredicate;
using mlir::Value;

class Narrowing {
 public:
  Narrowing(ir::RangeTaskOp task, const FunctionFacts& functions)
      : task_(task),
        functions_(functions),
        bounds_(llvm::cast<ir::YieldOp>(task.getBounds().front().getTerminator())),
        builder_(bounds_) {}

  void Run() {
    if (task_.isSparse() || Draws()) return;
    for (mlir::Operation& op : task_.getBody().front()) {
      if (auto branch = llvm::dyn_cast<ir::IfOp>(op); branch && !IsSkippable(op)) {
        if (HoldsTheRest(branch)) Narrow(branch.getCondition(), /*wanted=*/true);
        if (SkipsTheRest(branch)) Narrow(branch.getCondition(), /*wanted=*/false);
        return;
      }
      if (!IsSkippable(op)) return;
    }
  }

 private:
  bool Draws() { return functions_.Any(task_.getBody(), kDraws | kCalls); }

  // Whether an iteration that does nothing else may leave the op out.
  bool IsSkippable(mlir::Operation& op) {
    return !op.walk([&](mlir::Operation* inner) {
                const Effects effects = functions_.EffectsOf(inner);
                return effects.bits != 0 || !effects.writes.empty() ||
                               llvm::isa<ir::ForOp, ir::LoopOp>(inner)
                           ? mlir::WalkResult::interrupt()
                           : mlir::WalkResult::advance();
              }).wasInterrupted();
  }

  bool Only(mlir::Block& block, bool continues) {
    return llvm::hasSingleElement(block) && (continues ? llvm::isa<ir::ContinueOp>(block.front())
                                                       : llvm::isa<ir::YieldOp>(block.front()));
  }

  bool HoldsTheRest(ir::IfOp branch) {
    if (!Only(branch.getElseBlock(), /*continues=*/false) &&
        !Only(branch.getElseBlock(), /*continues=*/true)) {
      return false;
    }
    if (branch->getNumResults() != 0) return false;
    mlir::Operation* op = branch->getNextNode();
    if (!op) return Only(branch.getElseBlock(), /*continues=*/true);
    for (; op->getNextNode(); op = op->getNextNode()) {
      if (!IsSkippable(*op)) return false;
    }
    return llvm::isa<ir::ContinueOp>(op);
  }

  bool SkipsTheRest(ir::IfOp branch) { return Only(branch.getThenBlock(), /*continues=*/true); }

  // In all iterations that do anything, `condition` is `wanted`.
  void Narrow(Value condition, bool wanted) {
    mlir::Operation* op = condition.getDefiningOp();
    if (!op) return;
    if ((wanted && llvm::isa<arith::AndIOp>(op)) || (!wanted && llvm::isa<arith::OrIOp>(op))) {
      // Held by value: narrowing replaces operands.
      const Value left = op->getOperand(0), right = op->getOperand(1);
      Narrow(left, wanted);
      Narrow(right, wanted);
    } else if (llvm::isa<arith::XOrIOp>(op)) {
      const std::optional<int64_t> flips = ConstantOf(op->getOperand(1));
      if (flips) Narrow(op->getOperand(0), wanted != (*flips != 0));
    } else if (auto compare = llvm::dyn_cast<arith::CmpIOp>(op)) {
      NarrowBy(compare, wanted);
    }
  }

  void NarrowBy(arith::CmpIOp compare, bool wanted) {
    CmpIPredicate predicate = compare.getPredicate();
    if (!wanted) predicate = arith::invertPredicate(predicate);
    for (const bool swapped : {false, true}) {
      const Value index = swapped ? compare.getRhs() : compare.getLhs();
      const Value limit = swapped ? compare.getLhs() : compare.getRhs();
      const std::optional<Term> term = TermOf(index);
      if (!term || !Invariants().Has(limit)) continue;
      if (!Restrict(*term, swapped ? Swapped(predicate) : predicate, limit)) return;
      mlir::OpBuilder builder(compare);
      compare.getResult().replaceAllUsesWith(
          builder.create<arith::ConstantOp>(compare.getLoc(), builder.getBoolAttr(wanted)));
      return;
    }
  }

  static CmpIPredicate Swapped(CmpIPredicate predicate) {
    switch (predicate) {
      case CmpIPredicate::slt:
        return CmpIPredicate::sgt;
      case CmpIPredicate::sle:
        return CmpIPredicate::sge;
      case CmpIPredicate::sgt:
        return CmpIPredicate::slt;
      case CmpIPredicate::sge:
        return CmpIPredicate::sle;
      default:
        return predicate;  // eq and ne; Restrict takes no unsigned ones
    }
  }

  // An index plus a constant, in 32 bits, without overflow.
  struct Term {
    int dimension;
    int64_t constant;
  };

  std::optional<Term> TermOf(Value value) {
    if (!value.getType().isInteger(32)) return std::nullopt;
    int64_t constant = 0;
    if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
      const std::optional<int64_t> added = ConstantOf(sum.getRhs());
      if (!added) return std::nullopt;
      constant = *added;
      value = sum.getLhs();
    } else if (auto difference = value.getDefiningOp<arith::SubIOp>()) {
      const std::optional<int64_t> subtracted = ConstantOf(difference.getRhs());
      if (!subtracted) return std::nullopt;
      constant = -*subtracted;
      value = difference.getLhs();
    }
    for (auto [d, index] : llvm::enumerate(task_.getIndices())) {
      if (index != value) continue;
      if (!CannotOverflow(static_cast<int>(d), constant)) return std::nullopt;
      return Term{static_cast<int>(d), constant};
    }
    return std::nullopt;
  }

  bool CannotOverflow(int dimension, int64_t constant) {
    if (constant == 0) return true;
    if (constant < 0) {
      const std::optional<int64_t> lower = ConstantOf(Lower(dimension));
      return lower && *lower + constant >= std::numeric_limits<int32_t>::min();
    }
    const std::optional<int64_t> upper = ConstantOf(Upper(dimension));
    return upper && *upper - 1 + constant <= std::numeric_limits<int32_t>::max();
  }

  Value Lower(int d) { return bounds_.getValues()[2 * d]; }
  Value Upper(int d) { return bounds_.getValues()[2 * d + 1]; }

  // False, and no change, if the range cannot express the comparison.
  bool Restrict(const Term& term, CmpIPredicate predicate, Value limit) {
    const int d = term.dimension;
    const std::optional<int64_t> lower = ConstantOf(Lower(d)), upper = ConstantOf(Upper(d));
    const std::optional<int64_t> known = ConstantOf(limit);
    // Rows of a few cells are unrolled if their length is constant.
    constexpr int64_t kShort = 64;
    if (!known && d > 0 && lower && upper && *upper - *lower <= kShort) return false;
    switch (predicate) {
      case CmpIPredicate::slt:
        SetUpper(d, Limit(limit, -term.constant));
        return true;
      case CmpIPredicate::sle:
        SetUpper(d, Limit(limit, 1 - term.constant));
        return true;
      case CmpIPredicate::sgt:
        SetLower(d, Limit(limit, 1 - term.constant));
        return true;
      case CmpIPredicate::sge:
        SetLower(d, Limit(limit, -term.constant));
        return true;
      case CmpIPredicate::eq:
        SetLower(d, Limit(limit, -term.constant));
        SetUpper(d, Limit(limit, 1 - term.constant));
        return true;
      case CmpIPredicate::ne:
        // At an end of the range: a hole cannot be expressed.
        if (known && lower && *known - term.constant == *lower) {
          SetLower(d, Limit(limit, 1 - term.constant));
          return true;
        }
        if (known && upper && *known - term.constant == *upper - 1) {
          SetUpper(d, Limit(limit, -term.constant));
          return true;
        }
        return false;
      default:
        return false;
    }
  }

  // `limit` + `constant`, in the bounds and in i64.
  Value Limit(Value limit, int64_t constant) {
    mlir::IRMapping mapping;
    Value wide = Wide(Import(limit, &mapping));
    Value more =
        builder_.create<arith::ConstantOp>(task_.getLoc(), builder_.getI64IntegerAttr(constant));
    return builder_.createOrFold<arith::AddIOp>(task_.getLoc(), wide, more);
  }

  Value Import(Value value, mlir::IRMapping* mapping) {
    if (Value known = mapping->lookupOrNull(value)) return known;
    mlir::Operation* op = value.getDefiningOp();
    for (Value operand : op->getOperands()) Import(operand, mapping);
    return builder_.clone(*op, *mapping)
        ->getResult(llvm::cast<mlir::OpResult>(value).getResultNumber());
  }

  Value Wide(Value value) {
    if (value.getType().isInteger(64)) return value;
    return builder_.createOrFold<arith::ExtSIOp>(task_.getLoc(), builder_.getI64Type(), value);
  }

  void SetLower(int d, Value limit) {
    SetBound(2 * d, builder_.createOrFold<arith::MaxSIOp>(task_.getLoc(), Wide(Lower(d)), limit));
  }
  void SetUpper(int d, Value limit) {
    SetBound(2 * d + 1,
             builder_.createOrFold<arith::MinSIOp>(task_.getLoc(), Wide(Upper(d)), limit));
  }
  // Bounds of a dimension have one type.
  void SetBound(int i, Value bound) {
    bounds_->setOperand(i, bound);
    bounds_->setOperand(i ^ 1, Wide(bounds_.getValues()[i ^ 1]));
  }

  ir::RangeTaskOp task_;
  const FunctionFacts& functions_;
  ir::YieldOp bounds_;
  mlir::OpBuilder builder_;
};

struct NarrowBoundsPass : mlir::PassWrapper<NarrowBoundsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NarrowBoundsPass)
  llvm::StringRef getArgument() const override { return "narrow-bounds"; }
  void runOnOperation() override {
    const FunctionFacts functions(getOperation());
    for (auto task : getOperation().getBodyRegion().getOps<ir::RangeTaskOp>()) {
      Narrowing(task, functions).Run();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateNarrowBoundsPass() {
  return std::make_unique<NarrowBoundsPass>();
}

}  // namespace kiln
