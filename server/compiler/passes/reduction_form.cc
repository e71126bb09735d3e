// If-conversion of reductions: partial results that a loop carries, in the form that LLVM
// vectorises, which is one unconditional operation in each iteration.
//
//   %next = kiln.if %c -> f32 {               %part = kiln.if %c -> f32 {
//     %v = ...                                  %v = ...
//     %sum2 = arith.addf %sum, %v      ->       kiln.yield %v
//     kiln.yield %sum2                        } else { kiln.yield -0.0 }
//   } else { kiln.yield %sum }                %next = arith.addf %sum, %part
//
// What is combined where nothing was before changes no bit of a number: -0.0 for sums, 1 for
// products, the greatest number for minima.
//
// Minima and maxima of floats ignore NaNs. LLVM vectorises them only with nnan, so a NaN becomes
// the identity first. That is exact if the loop starts with a number.
//
// Floats need the flag reassoc, without which LLVM keeps the loop as it is. The branch stays where
// it holds more than a few instructions, or where something else in the loop prevents
// vectorisation: there the additional operation would only cost time.
//
// Requires: locals are promoted. Guarantees: only that the code computes the same.
#include <optional>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/cost.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using ir::AtomicKind;
using mlir::Value;

std::optional<AtomicKind> KindOf(mlir::Operation* op) {
  using Kind = std::optional<AtomicKind>;
  return llvm::TypeSwitch<mlir::Operation*, Kind>(op)
      .Case([](arith::AddIOp) { return AtomicKind::addi; })
      .Case([](arith::SubIOp) { return AtomicKind::subi; })
      .Case([](arith::MulIOp) { return AtomicKind::muli; })
      .Case([](arith::MinSIOp) { return AtomicKind::minsi; })
      .Case([](arith::MaxSIOp) { return AtomicKind::maxsi; })
      .Case([](arith::MinUIOp) { return AtomicKind::minui; })
      .Case([](arith::MaxUIOp) { return AtomicKind::maxui; })
      .Case([](arith::AndIOp) { return AtomicKind::andi; })
      .Case([](arith::OrIOp) { return AtomicKind::ori; })
      .Case([](arith::XOrIOp) { return AtomicKind::xori; })
      .Case([](arith::AddFOp) { return AtomicKind::addf; })
      .Case([](arith::SubFOp) { return AtomicKind::subf; })
      .Case([](arith::MulFOp) { return AtomicKind::mulf; })
      .Case([](arith::MinNumFOp) { return AtomicKind::minf; })
      .Case([](arith::MaxNumFOp) { return AtomicKind::maxf; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

bool IsDifference(AtomicKind kind) { return kind == AtomicKind::subi || kind == AtomicKind::subf; }
bool IsExtreme(AtomicKind kind) { return kind == AtomicKind::minf || kind == AtomicKind::maxf; }

arith::FastMathFlags FlagsOf(mlir::Operation* op) {
  auto with_flags = llvm::dyn_cast<arith::ArithFastMathInterface>(op);
  if (!with_flags || !with_flags.getFastMathFlagsAttr()) return arith::FastMathFlags::none;
  return with_flags.getFastMathFlagsAttr().getValue();
}

bool Has(arith::FastMathFlags flags, arith::FastMathFlags flag) {
  return bitEnumContainsAll(flags, flag);
}

// One value that a loop carries from iteration to iteration. `end` is the only op that ends one.
class CarriedReduction {
 public:
  CarriedReduction(Value carried, Value init, mlir::Operation* end, unsigned position)
      : carried_(carried), init_(init), end_(end), position_(position), builder_(end) {}

  void Run() {
    FindDependent(*end_->getBlock());
    if (!IsChain()) return;
    Value base;
    Value part = Rewrite(Next(), end_->getBlock(), &base);
    if (!part) return;
    builder_.setInsertionPoint(end_);
    arith::FastMathFlags flags = flags_;
    if (FiltersNans()) {
      part = WithoutNan(part);
      flags = flags | arith::FastMathFlags::nnan;
    }
    end_->setOperand(position_, Combine(builder_, end_->getLoc(), *kind_, carried_, part, flags));
    for (mlir::Operation* link : links_) link->erase();
  }

 private:
  Value Next() { return end_->getOperand(position_); }
  bool FiltersNans() { return IsExtreme(*kind_) && !Has(flags_, arith::FastMathFlags::nnan); }

  // The values that are computed from the carried one.
  void FindDependent(mlir::Block& block) {
    dependent_.insert(carried_);
    for (mlir::Operation& op : block) {
      auto branch = llvm::dyn_cast<ir::IfOp>(op);
      if (!branch) {
        const auto is_dependent = [&](Value v) { return dependent_.contains(v); };
        if (!llvm::any_of(op.getOperands(), is_dependent)) continue;
        dependent_.insert(op.result_begin(), op.result_end());
        continue;
      }
      for (mlir::Region& region : op.getRegions()) {
        FindDependent(region.front());
        for (auto [result, value] :
             llvm::zip(op.getResults(), region.front().getTerminator()->getOperands())) {
          if (dependent_.contains(value)) dependent_.insert(result);
        }
      }
    }
  }

  // Whether the next value is the carried one, combined with values that do not depend on it, in
  // branches or not, and nothing else uses what is in between.
  bool IsChain() {
    uses_.insert(&end_->getOpOperand(position_));
    if (Base(Next(), end_->getBlock()) != carried_ || !kind_) return false;
    if (!in_branches_ && !FiltersNans()) return false;
    mlir::Attribute start;
    if (FiltersNans()) {
      if (!init_) return false;
      const auto number = mlir::matchPattern(init_, mlir::m_Constant(&start))
                              ? llvm::dyn_cast<mlir::FloatAttr>(start)
                              : mlir::FloatAttr();
      if (!number || number.getValue().isNaN()) return false;
    }
    return llvm::all_of(dependent_, [&](Value value) {
      return llvm::all_of(value.getUses(),
                          [&](mlir::OpOperand& use) { return uses_.contains(&use); });
    });
  }

  // The value from outside of the block that `value` is made of; null if it is made in another way.
  Value Base(Value value, mlir::Block* block) {
    if (!dependent_.contains(value)) return {};
    if (value.getParentBlock() != block || value == carried_) return value;
    mlir::Operation* op = value.getDefiningOp();
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
      const unsigned i = llvm::cast<mlir::OpResult>(value).getResultNumber();
      in_branches_ = true;
      Value bases[2];
      for (auto [region, base] : llvm::zip(op->getRegions(), bases)) {
        mlir::Operation* yield = region.front().getTerminator();
        if (!llvm::isa<ir::YieldOp>(yield)) return {};
        uses_.insert(&yield->getOpOperand(i));
        base = Base(yield->getOperand(i), &region.front());
      }
      return bases[0] && bases[0] == bases[1] ? Base(bases[0], block) : Value();
    }
    mlir::OpOperand* through = AddLink(op);
    return through ? Base(through->get(), block) : Value();
  }

  // The operand through which an op of the reduction takes what was combined before; null if the op
  // is none.
  mlir::OpOperand* AddLink(mlir::Operation* op) {
    const std::optional<AtomicKind> kind = KindOf(op);
    if (!kind) return nullptr;
    const arith::FastMathFlags flags = FlagsOf(op);
    const bool is_float = llvm::isa<mlir::FloatType>(op->getResult(0).getType());
    if (is_float && !Has(flags, arith::FastMathFlags::reassoc)) return nullptr;
    if (IsExtreme(*kind) && !Has(flags, arith::FastMathFlags::nsz)) return nullptr;
    if (kind_ && (*kind_ != *kind || flags_ != flags)) return nullptr;
    const bool first = dependent_.contains(op->getOperand(0));
    const bool second = dependent_.contains(op->getOperand(1));
    if (first == second || (second && IsDifference(*kind))) return nullptr;
    kind_ = kind;
    flags_ = flags;
    links_.push_back(op);
    mlir::OpOperand* through = &op->getOpOperand(first ? 0 : 1);
    uses_.insert(through);
    return through;
  }

  // What `value` combines with its base; null: nothing. Branches yield their parts from then on.
  Value Rewrite(Value value, mlir::Block* block, Value* base) {
    if (value.getParentBlock() != block || value == carried_) {
      *base = value;
      return {};
    }
    mlir::Operation* op = value.getDefiningOp();
    auto branch = llvm::dyn_cast<ir::IfOp>(op);
    if (!branch) {
      const unsigned through = dependent_.contains(op->getOperand(0)) ? 0 : 1;
      Value part = Rewrite(op->getOperand(through), block, base);
      builder_.setInsertionPoint(op);
      return Both(part, op->getOperand(1 - through));
    }
    const unsigned i = llvm::cast<mlir::OpResult>(value).getResultNumber();
    Value inner;
    for (mlir::Region& region : op->getRegions()) {
      mlir::Operation* yield = region.front().getTerminator();
      Value part = Rewrite(yield->getOperand(i), &region.front(), &inner);
      builder_.setInsertionPoint(yield);
      if (!part) part = Nothing();
      yield->setOperand(i, part);
    }
    Value before = Rewrite(inner, block, base);
    builder_.setInsertionPointAfter(op);
    return Both(before, value);
  }

  Value Both(Value before, Value part) {
    if (!before) return part;
    return Combine(builder_, end_->getLoc(), KindOfPartials(*kind_), before, part, flags_);
  }

  Value Nothing() {
    mlir::TypedAttr identity = IdentityOf(*kind_, carried_.getType());
    if (auto number = llvm::dyn_cast<mlir::FloatAttr>(identity)) {
      llvm::APFloat value = number.getValue();
      // 0.0 would change -0.0. What is subtracted may be 0.0, unless it is a sum of such.
      if (*kind_ == AtomicKind::addf) value.changeSign();
      // The filter makes the identity of it, and keeps it apart from an infinity.
      if (FiltersNans()) value = llvm::APFloat::getNaN(value.getSemantics());
      identity = mlir::FloatAttr::get(number.getType(), value);
    }
    return builder_.create<arith::ConstantOp>(end_->getLoc(), identity);
  }

  Value WithoutNan(Value part) {
    mlir::Location loc = end_->getLoc();
    Value nan = builder_.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, part, part);
    Value nothing = builder_.create<arith::ConstantOp>(loc, IdentityOf(*kind_, carried_.getType()));
    return builder_.create<arith::SelectOp>(loc, nan, nothing, part);
  }

  Value carried_, init_;
  mlir::Operation* end_;
  unsigned position_;
  mlir::OpBuilder builder_;
  bool in_branches_ = false;
  std::optional<AtomicKind> kind_;
  arith::FastMathFlags flags_ = arith::FastMathFlags::none;
  llvm::DenseSet<Value> dependent_;
  llvm::DenseSet<mlir::OpOperand*> uses_;
  llvm::SmallVector<mlir::Operation*> links_;  // users first
};

// --- Loops ---------------------------------------------------------------------------

// Integer division does not vectorise, and functions take long.
bool IsCheap(mlir::Operation& op) {
  if (llvm::isa<mlir::math::MathDialect>(op.getDialect())) {
    return llvm::isa<mlir::math::AbsFOp, mlir::math::AbsIOp, mlir::math::SqrtOp,
                     mlir::math::FloorOp, mlir::math::CeilOp, mlir::math::FmaOp>(op);
  }
  return !llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

// Whether LLVM is likely to vectorise a loop with this body, if all branches run in each iteration.
bool IsWorthIt(mlir::Region& body) {
  constexpr int kMostInBranches = 24;
  if (!MayVectorise(body)) return false;
  int in_branches = 0;
  return !body.walk([&](mlir::Operation* op) {
                if (EffectsOf(op).bits & ~kLeaves) return mlir::WalkResult::interrupt();
                if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) return mlir::WalkResult::interrupt();
                if (op->getParentRegion() == &body) return mlir::WalkResult::advance();
                if (!IsCheap(*op) || ++in_branches > kMostInBranches) {
                  return mlir::WalkResult::interrupt();
                }
                return mlir::WalkResult::advance();
              })
              .wasInterrupted();
}

// Whether an iteration ends, or leaves the loop, anywhere but at the end of the body.
bool EndsElsewhere(mlir::Block& body) {
  return body
      .walk([&](mlir::Operation* op) {
        const bool ends =
            llvm::isa<ir::ContinueOp, ir::BreakOp, ir::ReturnOp>(op) && op->getBlock() != &body;
        return ends ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void RewriteLoop(mlir::Region& region, mlir::ValueRange carried, llvm::ArrayRef<Value> inits) {
  mlir::Block& body = region.front();
  if (carried.empty() || EndsElsewhere(body) || !IsWorthIt(region)) return;
  mlir::Operation* end = body.getTerminator();
  if (!llvm::isa<ir::ContinueOp>(end)) return;
  for (unsigned i = 0; i < carried.size(); ++i) {
    CarriedReduction(carried[i], inits[i], end, i).Run();
  }
}

struct ReductionFormPass : mlir::PassWrapper<ReductionFormPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReductionFormPass)
  llvm::StringRef getArgument() const override { return "reduction-form"; }
  void runOnOperation() override {
    getOperation().walk([](ir::ForOp loop) {
      RewriteLoop(loop.getBodyRegion(), loop.getCarried(),
                  llvm::SmallVector<Value>(loop.getInits()));
    });
    for (auto task : getOperation().getBodyRegion().getOps<ir::RangeTaskOp>()) {
      // Where `reduce` makes minima, it has excluded NaNs already.
      const llvm::SmallVector<Value> unknown(task.getAccumulators().size());
      RewriteLoop(task.getBody(), task.getAccumulators(), unknown);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateReductionFormPass() {
  return std::make_unique<ReductionFormPass>();
}

}  // namespace kiln
