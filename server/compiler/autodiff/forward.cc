#include "server/compiler/autodiff/forward.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/autodiff/activity.h"
#include "server/compiler/autodiff/derivatives.h"
#include "server/compiler/autodiff/extreme.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/autodiff/overwritten.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using mlir::Value;

// Copies of parallel loops that only find the winners of atomic minima and maxima.
class Winners {
 public:
  explicit Winners(ir::KernelOp kernel) : kernel_(kernel) {}

  mlir::LogicalResult Make() {
    llvm::SmallVector<ir::ParallelForOp> loops;
    kernel_.walk([&](ir::ParallelForOp loop) {
      bool has_extremes = false;
      loop->walk([&](mlir::Operation* op) { has_extremes |= IsExtremeAtomic(op); });
      if (has_extremes) loops.push_back(loop);
    });
    for (ir::ParallelForOp loop : loops) {
      mlir::OpBuilder b(kernel_.getContext());
      b.setInsertionPointAfter(loop);
      mlir::Operation* again = b.clone(*loop);
      MarkWrittenBy(loop, again);
      if (mlir::failed(KeepExtremes(again))) return mlir::failure();
      again->walk([&](ir::AtomicOp op) {
        if (IsExtremeAtomic(op)) found_.insert(op);
      });
    }
    return mlir::success();
  }

  bool IsAgain(mlir::Operation* atomic) const { return found_.contains(atomic); }

 private:
  // Removes what the loop has done already.
  static mlir::LogicalResult KeepExtremes(mlir::Operation* again) {
    llvm::SmallVector<mlir::Operation*> done;
    again->walk([&](mlir::Operation* op) {
      if (op->hasTrait<mlir::OpTrait::IsTerminator>()) return;
      const Effects effects = EffectsOf(op);
      const bool is_seen = effects.Has(kReports | kFails | kActivates | kDeactivates | kDraws);
      const bool writes = llvm::any_of(effects.writes, [&](Value address) {
        const Value local = LocalOf(address);
        return !local || ParallelScope(local.getDefiningOp()) != again;
      });
      if (is_seen || writes) done.push_back(op);
    });
    for (mlir::Operation* op : done) {
      if (!op->use_empty()) {
        return op->emitError(
            "the dual of an atomic minimum or maximum cannot be computed if its "
            "loop uses what this operation returns");
      }
      if (!IsExtremeAtomic(op)) op->erase();
    }
    return mlir::success();
  }

  ir::KernelOp kernel_;
  llvm::DenseSet<mlir::Operation*> found_;
};

class Tangents {
 public:
  Tangents(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions, const Winners& winners)
      : kernel_(kernel),
        activity_(kernel, companions),
        winners_(winners),
        winner_test_(kernel),
        b_(kernel.getContext()),
        flags_(ir::FloatFlags(kernel.getFastMath())) {}

  mlir::LogicalResult Run() {
    WidenTape();
    VisitBlock(kernel_.getBody().front());
    return mlir::success(!failed_);
  }

 private:
  // Records of a gradient take the duals of their values, too: behind them, in the same order.
  void WidenTape() {
    kernel_.walk([](mlir::Operation* op) {
      llvm::TypeSwitch<mlir::Operation*>(op)
          .Case<ir::TapePushOp, ir::TapeTopOp, ir::TapePopOp, ir::TapeSlotOp>(
              [](auto tape) { tape.setBytes(2 * tape.getBytes()); });
    });
  }

  void VisitBlock(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
      if (failed_) return;
      b_.setInsertionPointAfter(&op);
      Visit(&op);
    }
  }

  void Visit(mlir::Operation* op) {
    if (op->hasTrait<mlir::OpTrait::IsTerminator>()) return VisitEnd(op);
    if (llvm::isa<ir::LocalOp, ir::LocalArrayOp>(op)) return VisitLocal(op);
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) return VisitLoad(load);
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) return VisitStore(store);
    if (op->hasAttr(kStrongZero)) return VisitStrongZero(op);
    if (auto zero = llvm::dyn_cast<ir::ZeroOp>(op)) {
      if (!activity_.IsActiveMemory(zero.getAddress())) return;
      b_.create<ir::ZeroOp>(op->getLoc(), zero.getCount(), DualAddress(zero.getAddress()));
      return;
    }
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) return VisitAtomic(atomic);
    if (auto update = llvm::dyn_cast<ir::UpdateOp>(op)) return VisitUpdate(update);
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) return VisitIf(branch);
    if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) return VisitLoop(op);
    if (llvm::isa<ir::ParallelForOp>(op)) return VisitBlock(op->getRegion(0).front());
    if (llvm::any_of(op->getResults(), [&](Value v) { return activity_.IsActive(v); })) {
      VisitArithmetic(op);
    }
  }

  // --- Values

  Value Zero(mlir::Location loc, mlir::Type type) {
    return b_.create<arith::ConstantOp>(loc, llvm::cast<mlir::TypedAttr>(b_.getZeroAttr(type)));
  }

  Value DualOf(Value value) {
    if (Value dual = duals_.lookup(value)) return dual;
    return Zero(value.getLoc(), value.getType());
  }

  void VisitArithmetic(mlir::Operation* op) {
    if (op->getNumResults() != 1 || !HasDerivative(op)) {
      return Fail(op, kNoDerivative);
    }
    Value sum;
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      const unsigned i = operand.getOperandNumber();
      if (IsConstantIn(op, i) || !duals_.contains(operand.get())) continue;
      const Value part =
          Times(b_, op, i, duals_.lookup(operand.get()), [](Value value) { return value; });
      sum = sum ? b_.createOrFold<arith::AddFOp>(op->getLoc(), sum, part, flags_) : part;
    }
    if (sum) duals_[op->getResult(0)] = sum;
  }

  // Where t is 0, the product is 0, but it changes with t.
  void VisitStrongZero(mlir::Operation* op) {
    auto select = llvm::dyn_cast<arith::SelectOp>(op);
    auto is_zero = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
    if (!is_zero) return Fail(op, kNoDerivative);
    const mlir::Location loc = op->getLoc();
    const Value t = DualOf(is_zero.getLhs());
    const Value stays =
        b_.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, t, Zero(loc, t.getType()));
    const Value both = b_.create<arith::AndIOp>(loc, select.getCondition(), stays);
    duals_[select.getResult()] = b_.create<arith::SelectOp>(loc, both, Zero(loc, select.getType()),
                                                            DualOf(select.getFalseValue()));
  }

  // --- Memory

  Value NewLocal(mlir::Location loc, mlir::Type type) {
    return b_.create<ir::LocalOp>(loc, ir::AddrType::get(b_.getContext(), type));
  }

  void VisitLocal(mlir::Operation* op) {
    if (!activity_.IsActive(op->getResult(0))) return;
    const Value dual = b_.insert(op->clone())->getResult(0);
    auto array = llvm::dyn_cast<ir::LocalArrayOp>(op);
    b_.create<ir::ZeroOp>(op->getLoc(), array ? array.getCount() : 1, dual);
    duals_[op->getResult(0)] = dual;
  }

  Value DualAddress(Value address) {
    if (auto element = address.getDefiningOp<ir::ElementOp>()) {
      return b_.create<ir::ElementOp>(element.getLoc(), address.getType(),
                                      DualAddress(element.getArray()), element.getIndex());
    }
    if (auto select = address.getDefiningOp<arith::SelectOp>()) {
      const Value chosen = DualAddress(select.getTrueValue());
      const Value other = DualAddress(select.getFalseValue());
      return b_.create<arith::SelectOp>(select.getLoc(), select.getCondition(), chosen, other);
    }
    if (auto slot = address.getDefiningOp<ir::TapeSlotOp>()) {
      auto dual = llvm::cast<ir::TapeSlotOp>(b_.insert(slot->clone()));
      dual.setOffset(slot.getOffset() + slot.getBytes() / 2);
      return dual.getAddress();
    }
    const int64_t companion = activity_.CompanionOf(address);
    if (companion < 0) return duals_.lookup(address);
    mlir::Operation* copy = b_.insert(address.getDefiningOp()->clone());
    copy->setAttr("storage", b_.getI64IntegerAttr(companion));
    return copy->getResult(0);
  }

  void VisitLoad(ir::LoadOp op) {
    if (!activity_.IsActive(op.getValue())) return;
    const Value address = DualAddress(op.getAddress());
    duals_[op.getValue()] = b_.create<ir::LoadOp>(op.getLoc(), op.getValue().getType(), address);
  }

  void VisitStore(ir::StoreOp op) {
    if (!activity_.IsActiveMemory(op.getAddress())) return;
    const Value address = DualAddress(op.getAddress());
    b_.create<ir::StoreOp>(op.getLoc(), DualOf(op.getValue()), address);
  }

  void VisitAtomic(ir::AtomicOp op) {
    if (!activity_.IsActiveMemory(op.getAddress())) {
      if (winners_.IsAgain(op)) op.erase();
      return;
    }
    if (!op.getOld().use_empty() && activity_.IsActive(op.getOld())) {
      return Fail(op, kNoDerivativeOfOld);
    }
    const Value dual = DualOf(op.getValue());
    const Value address = DualAddress(op.getAddress());
    switch (op.getKind()) {
      case ir::AtomicKind::addf:
      case ir::AtomicKind::subf:
        b_.create<ir::AtomicOp>(op.getLoc(), dual.getType(), op.getKind(), dual, address);
        return;
      case ir::AtomicKind::minf:
      case ir::AtomicKind::maxf:
        if (winners_.IsAgain(op)) StoreOfWinner(op, dual, address);
        return;
      default:
        return Fail(op, kNoAtomicDerivative);
    }
  }

  // A gradient takes what is in a cell, and leaves zero; so does its dual. There are no others.
  void VisitUpdate(ir::UpdateOp op) {
    if (!activity_.IsActiveMemory(op.getAddress())) return;
    mlir::Operation* end = op.getBody().front().getTerminator();
    if (!matchPattern(end->getOperand(0), mlir::m_AnyZeroFloat())) {
      return Fail(op, kNoAtomicDerivative);
    }
    const Value address = DualAddress(op.getAddress());
    auto dual = llvm::cast<ir::UpdateOp>(b_.insert(op->clone()));
    dual->setOperand(0, address);
    duals_[op.getOld()] = dual.getOld();
  }

  void StoreOfWinner(ir::AtomicOp op, Value dual, Value address) {
    const mlir::Location loc = op.getLoc();
    const Value last = b_.create<ir::LoadOp>(loc, dual.getType(), op.getAddress());
    auto branch = b_.create<ir::IfOp>(
        loc, mlir::TypeRange(),
        winner_test_.IsWinner(b_, op.getValue(), last, [](Value v) { return v; }));
    for (mlir::Region& region : branch->getRegions()) {
      b_.setInsertionPointToStart(&region.emplaceBlock());
      b_.create<ir::YieldOp>(loc);
    }
    b_.setInsertionPointToStart(&branch.getThenBlock());
    b_.create<ir::StoreOp>(loc, dual, address);
    op.erase();
  }

  // --- Control

  void VisitIf(ir::IfOp op) {
    b_.setInsertionPoint(op);
    NewPassages(op, op.getResults());
    for (mlir::Region& region : op->getRegions()) VisitBlock(region.front());
    b_.setInsertionPointAfter(op);
    TakeResults(op);
  }

  void VisitLoop(mlir::Operation* op) {
    b_.setInsertionPoint(op);
    const bool is_for = llvm::isa<ir::ForOp>(op);
    mlir::Block& body = op->getRegion(0).front();
    const auto carried = body.getArguments().drop_front(is_for ? 1 : 0);
    NewPassages(op, carried);
    const auto& passages = passages_[op];
    for (auto [passage, init] : llvm::zip(passages, op->getOperands().drop_front(is_for ? 2 : 0))) {
      if (passage) b_.create<ir::StoreOp>(op->getLoc(), DualOf(init), passage);
    }
    b_.setInsertionPointToStart(&body);
    for (auto [passage, argument] : llvm::zip(passages, carried)) {
      if (passage && activity_.IsActive(argument)) {
        duals_[argument] = b_.create<ir::LoadOp>(op->getLoc(), argument.getType(), passage);
      }
    }
    VisitBlock(body);
    b_.setInsertionPointAfter(op);
    TakeResults(op);
  }

  // Locals that take the duals of an if's results, or of a loop's carried values and results.
  void NewPassages(mlir::Operation* op, mlir::ValueRange values) {
    llvm::SmallVector<Value> passages;
    for (auto [value, result] : llvm::zip(values, op->getResults())) {
      const bool is_active = activity_.IsActive(value) || activity_.IsActive(result);
      passages.push_back(is_active ? NewLocal(op->getLoc(), value.getType()) : Value());
    }
    passages_[op] = std::move(passages);
  }

  void TakeResults(mlir::Operation* op) {
    for (auto [passage, result] : llvm::zip(passages_[op], op->getResults())) {
      if (passage && activity_.IsActive(result)) {
        duals_[result] = b_.create<ir::LoadOp>(op->getLoc(), result.getType(), passage);
      }
    }
  }

  // Passes on the duals of what a terminator passes on.
  void VisitEnd(mlir::Operation* end) {
    mlir::Operation* to = end->getParentOp();
    if (!llvm::isa<ir::YieldOp>(end)) {
      while (llvm::isa<ir::IfOp>(to)) to = to->getParentOp();
    }
    const auto found = passages_.find(to);
    if (found == passages_.end() || llvm::isa<ir::ReturnOp>(end)) return;
    b_.setInsertionPoint(end);
    for (auto [passage, value] : llvm::zip(found->second, end->getOperands())) {
      if (passage) b_.create<ir::StoreOp>(end->getLoc(), DualOf(value), passage);
    }
  }

  void Fail(mlir::Operation* op, const llvm::Twine& why) {
    if (!failed_) op->emitError() << why;
    failed_ = true;
  }

  ir::KernelOp kernel_;
  const Activity activity_;
  const Winners& winners_;
  WinnerTest winner_test_;
  mlir::OpBuilder b_;
  const arith::FastMathFlags flags_;
  llvm::DenseMap<Value, Value> duals_;  // of active values; of locals: addresses
  // By if or loop: the locals of duals, or null.
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<Value>> passages_;
  bool failed_ = false;
};

}  // namespace

mlir::LogicalResult Forward(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions) {
  Winners winners(kernel);
  if (mlir::failed(winners.Make())) return mlir::failure();
  return Tangents(kernel, companions, winners).Run();
}

}  // namespace kiln
