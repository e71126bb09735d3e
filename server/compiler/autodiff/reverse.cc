#include "server/compiler/autodiff/reverse.h"

#include <memory>

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/autodiff/activity.h"
#include "server/compiler/autodiff/derivatives.h"
#include "server/compiler/autodiff/dropped.h"
#include "server/compiler/autodiff/extreme.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/autodiff/loop_tape.h"
#include "server/compiler/autodiff/replay.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using mlir::Value;

class Reversal {
 public:
  Reversal(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions)
      : kernel_(kernel),
        activity_(kernel, companions),
        dropped_(kernel),
        replay_(kernel),
        b_(replay_.b),
        flags_(ir::FloatFlags(kernel.getFastMath())),
        winner_test_(kernel) {}

  mlir::LogicalResult Run() {
    FindActiveOps();
    mlir::Block* primal = &kernel_.getBodyRegion().front();
    mlir::Block* gradient = new mlir::Block;
    kernel_.getBodyRegion().push_back(gradient);
    b_.setInsertionPointToStart(gradient);
    Run(*primal);
    b_.create<ir::ReturnOp>(primal->getTerminator()->getLoc());
    primal->erase();
    return mlir::success(!replay_.failed());
  }

 private:
  // --- What is active

  void FindActiveOps() {
    kernel_.walk([&](mlir::Operation* op) {
      if (!IsActiveOp(op)) return;
      while (op != kernel_ && active_ops_.insert(op).second) op = op->getParentOp();
    });
  }

  bool IsActiveOp(mlir::Operation* op) {
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) {
      return activity_.IsActiveMemory(store.getAddress());
    }
    if (auto zero = llvm::dyn_cast<ir::ZeroOp>(op)) {
      return activity_.IsActiveMemory(zero.getAddress());
    }
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) {
      return activity_.IsActiveMemory(atomic.getAddress());
    }
    // Ends of iterations pass on adjoints, wherever they are.
    const bool ends = op->hasTrait<mlir::OpTrait::IsTerminator>();
    const auto values = ends ? mlir::ValueRange(op->getOperands()) : op->getResults();
    return llvm::any_of(values, [&](Value v) { return activity_.IsActive(v); });
  }

  // --- Adjoints

  Value NewAdjoint(Value primal) {
    auto local = b_.create<ir::LocalOp>(primal.getLoc(),
                                        ir::AddrType::get(b_.getContext(), primal.getType()));
    b_.create<ir::StoreOp>(primal.getLoc(), replay_.Zero(primal.getLoc(), primal.getType()), local);
    return adjoints_[primal] = local;
  }

  // Of the block's values and locals.
  void DeclareAdjoints(mlir::Block& block) {
    for (mlir::Operation& op : block) {
      if (llvm::isa<ir::LocalOp, ir::LocalArrayOp>(op)) {
        if (activity_.IsActive(op.getResult(0))) NewShadow(&op);
        continue;
      }
      for (Value result : op.getResults()) {
        if (activity_.IsActive(result)) NewAdjoint(result);
      }
    }
  }

  // Memory for the adjoints of a local's scalars.
  void NewShadow(mlir::Operation* local) {
    mlir::Operation* shadow = b_.insert(local->clone());
    const Value address = shadow->getResult(0);
    auto array = llvm::dyn_cast<ir::LocalArrayOp>(shadow);
    b_.create<ir::ZeroOp>(local->getLoc(), array ? array.getCount() : 1, address);
    adjoints_[local->getResult(0)] = address;
  }

  Value AdjointOf(Value primal) {
    return b_.create<ir::LoadOp>(primal.getLoc(), primal.getType(), adjoints_.lookup(primal));
  }

  // The address of the adjoint of what is at a primal address.
  Value AdjointAddress(Value address) {
    if (auto element = address.getDefiningOp<ir::ElementOp>()) {
      return b_.create<ir::ElementOp>(element.getLoc(), address.getType(),
                                      AdjointAddress(element.getArray()),
                                      replay_.Get(element.getIndex()));
    }
    if (auto select = address.getDefiningOp<arith::SelectOp>()) {
      const Value chosen = AdjointAddress(select.getTrueValue());
      const Value other = AdjointAddress(select.getFalseValue());
      return b_.create<arith::SelectOp>(select.getLoc(), replay_.Get(select.getCondition()), chosen,
                                        other);
    }
    const int64_t companion = activity_.CompanionOf(address);
    if (companion < 0) return adjoints_.lookup(address);
    // A cell that is inactive was read as a constant: it has no gradient.
    mlir::Operation* op = address.getDefiningOp();
    mlir::Operation* copy = replay_.Copy(op);
    auto global = llvm::dyn_cast<ir::GlobalOp>(copy);
    if (global && IsBeside(global.getStorage(), companion)) global.setNoActivate(true);
    copy->setAttr("storage", b_.getI64IntegerAttr(companion));
    return copy->getResult(0);
  }

  // Whether the cells of two storages are in the same containers of a tree, so that one is active
  // where the other is.
  bool IsBeside(int64_t storage, int64_t companion) {
    ir::TreeFieldAttr x = kernel_.getTreeField(storage), y = kernel_.getTreeField(companion);
    if (!x || !y || x.getTree() != y.getTree()) return false;
    ir::TreeAttr tree = kernel_.getTree(x.getTree());
    const auto container = [&](ir::TreeFieldAttr field) {
      const auto path = tree.getPath(field.getNode());
      return path.size() < 2 ? int64_t{-1} : path[path.size() - 2];
    };
    return container(x) == container(y);
  }

  // Adds to memory. Other iterations of the parallel loop may add to it as well, unless it belongs
  // to this one.
  void AddAt(mlir::Location loc, Value address, Value value) {
    const Value local = LocalOf(address);
    mlir::Operation* here = b_.getInsertionBlock()->getParentOp();
    const bool is_scope = llvm::isa<ir::ParallelForOp, ir::KernelOp>(here);
    mlir::Operation* scope = is_scope ? here : ParallelScope(here);
    if (local == nullptr || ParallelScope(local.getDefiningOp()) != scope) {
      b_.create<ir::AtomicOp>(loc, value.getType(), ir::AtomicKind::addf, value, address);
      return;
    }
    const Value old = b_.create<ir::LoadOp>(loc, value.getType(), address);
    // A sum of adjoints starts at zero, whose sign means nothing.
    const arith::FastMathFlags flags = flags_ | arith::FastMathFlags::nsz;
    b_.create<ir::StoreOp>(loc, b_.createOrFold<arith::AddFOp>(loc, old, value, flags), address);
  }

  void AddTo(Value primal, Value value) {
    if (!activity_.IsActive(primal)) return;
    AddAt(value.getLoc(), adjoints_.lookup(primal), value);
  }

  // --- A block, forward and backward

  void Run(mlir::Block& block) {
    DeclareAdjoints(block);
    RunFrom(block, block.begin());
  }

  void RunFrom(mlir::Block& block, mlir::Block::iterator at) {
    llvm::SmallVector<mlir::Operation*> run;
    for (; !at->hasTrait<mlir::OpTrait::IsTerminator>(); ++at) {
      mlir::Operation* op = &*at;
      run.push_back(op);
      if (op->getNumRegions() > 0 && active_ops_.contains(op)) SaveLocals(op);
      if (MayExit(op)) {
        // What follows, forward and backward, only if control gets there.
        if (auto loop = ParallelAfter(op)) {
          return replay_.Fail(
              loop,
              "the gradient of a kernel that may return before a parallel loop is not "
              "supported: put the loop in a kernel of its own");
        }
        auto rest = replay_.NewIf(op->getLoc(), replay_.ForwardExiting(llvm::cast<ir::IfOp>(op)));
        mlir::OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(&rest.getThenBlock());
        RunFrom(block, std::next(at));
        break;
      }
      if (IsLoop(op) && active_ops_.contains(op)) {
        tapes_[op] = std::make_unique<LoopTape>(&replay_, op);
      } else {
        replay_.Forward(op);
      }
      if (llvm::isa<ir::ParallelForOp>(op)) SaveExtremes(op);
    }
    if (at->hasTrait<mlir::OpTrait::IsTerminator>()) Seed(&*at);
    for (mlir::Operation* op : llvm::reverse(run)) {
      if (!active_ops_.contains(op)) continue;
      RestoreLocals(op);
      Backward(op);
    }
  }

  // The reverse of an op with code in it runs that code again. By then, locals that it reads may
  // have other values: those that it found are saved before it runs.
  void SaveLocals(mlir::Operation* op) {
    llvm::SetVector<Value> locals;
    op->walk([&](mlir::Operation* inner) {
      for (Value address : EffectsOf(inner).reads) {
        const Value local = LocalOf(address);
        const bool is_outside = local && !op->isAncestor(local.getDefiningOp());
        if (is_outside && MayChange(local, op)) locals.insert(local);
      }
    });
    for (Value local : locals) saved_[op].push_back({local, Saved(local)});
  }

  // A copy of what the local has now.
  Value Saved(Value local) {
    const Value saved = b_.insert(local.getDefiningOp()->clone())->getResult(0);
    replay_.CopyMemory(local, replay_.Get(local), saved);
    return saved;
  }

  // Keeps the minima and maxima that a parallel loop has left in locals: the winners of the loop's
  // reverse are found by them, when the locals may have other values.
  void SaveExtremes(mlir::Operation* loop) {
    loop->walk([&](ir::AtomicOp op) {
      const Value local = LocalOf(op.getAddress());
      if (!local || !active_ops_.contains(op) || !IsExtremeAtomic(op)) return;
      Value& saved = extremes_[{loop, local}];
      if (!saved) saved = Saved(local);
    });
  }

  // Whether the op, or anything that may run after it, writes to the local.
  static bool MayChange(Value local, mlir::Operation* op) {
    llvm::SmallVector<Value> addresses = {local};
    while (!addresses.empty()) {
      for (mlir::Operation* user : addresses.pop_back_val().getUsers()) {
        if (auto element = llvm::dyn_cast<ir::ElementOp>(user)) addresses.push_back(element);
        if (EffectsOf(user).writes.empty()) continue;
        mlir::Operation* beside = op->getBlock()->findAncestorOpInBlock(*user);
        if (beside == nullptr || !beside->isBeforeInBlock(op)) return true;
      }
    }
    return false;
  }

  void RestoreLocals(mlir::Operation* op) {
    for (const auto& [local, saved] : saved_.lookup(op)) {
      replay_.CopyMemory(local, saved, replay_.Get(local));
    }
  }

  static mlir::Operation* ParallelAfter(mlir::Operation* op) {
    while ((op = op->getNextNode()) != nullptr) {
      if (llvm::isa<ir::ParallelForOp>(op)) return op;
    }
    return nullptr;
  }

  // The adjoints of what a terminator passes on.
  void Seed(mlir::Operation* end) {
    if (llvm::isa<ir::YieldOp>(end)) {
      for (auto [value, result] : llvm::zip(end->getOperands(), end->getParentOp()->getResults())) {
        if (activity_.IsActive(result)) AddTo(value, AdjointOf(result));
      }
    } else if (!end->getOperands().empty()) {
      for (auto [value, seed] : llvm::zip(end->getOperands(), seeds_)) {
        if (seed) AddTo(value, seed);
      }
    }
  }

  // --- Backward

  void Backward(mlir::Operation* op) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) return BackwardLoad(load);
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) return BackwardStore(store);
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) return BackwardAtomic(atomic);
    if (auto zero = llvm::dyn_cast<ir::ZeroOp>(op)) {
      b_.create<ir::ZeroOp>(op->getLoc(), zero.getCount(), AdjointAddress(zero.getAddress()));
      return;
    }
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) return BackwardIf(branch);
    if (IsLoop(op)) return BackwardLoop(op);
    if (auto loop = llvm::dyn_cast<ir::ParallelForOp>(op)) return BackwardParallel(loop);
    if (llvm::isa<ir::LocalOp, ir::LocalArrayOp>(op)) return;
    BackwardArithmetic(op);
  }

  void BackwardArithmetic(mlir::Operation* op) {
    if (op->getNumResults() != 1 || !HasDerivative(op)) {
      return replay_.Fail(op, kNoDerivative);
    }
    const Value adjoint = AdjointOf(op->getResult(0));
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      const unsigned i = operand.getOperandNumber();
      if (IsConstantIn(op, i) || !activity_.IsActive(operand.get())) continue;
      Value part = Times(b_, op, i, adjoint, [&](Value v) { return replay_.Get(v); });
      if (dropped_.HidesInfinity(op, i)) {
        part = StrongProduct(b_, op->getLoc(), adjoint, part);
      }
      AddTo(operand.get(), part);
    }
  }

  void BackwardLoad(ir::LoadOp op) {
    if (!activity_.IsActive(op.getValue())) return;
    AddAt(op.getLoc(), AdjointAddress(op.getAddress()), AdjointOf(op.getValue()));
  }

  // The value that was there before has no part in what was there later.
  void BackwardStore(ir::StoreOp op) {
    const mlir::Type type = op.getValue().getType();
    const Value address = AdjointAddress(op.getAddress());
    const Value adjoint = b_.create<ir::LoadOp>(op.getLoc(), type, address);
    b_.create<ir::StoreOp>(op.getLoc(), replay_.Zero(op.getLoc(), type), address);
    AddTo(op.getValue(), adjoint);
  }

  void BackwardAtomic(ir::AtomicOp op) {
    if (!op.getOld().use_empty()) {
      return replay_.Fail(op.getOperation(), kNoDerivativeOfOld);
    }
    const mlir::Location loc = op.getLoc();
    const mlir::Type type = op.getValue().getType();
    const Value address = AdjointAddress(op.getAddress());
    switch (op.getKind()) {
      case ir::AtomicKind::addf:
        return AddTo(op.getValue(), b_.create<ir::LoadOp>(loc, type, address));
      case ir::AtomicKind::subf: {
        const Value adjoint = b_.create<ir::LoadOp>(loc, type, address);
        return AddTo(op.getValue(), b_.createOrFold<arith::NegFOp>(loc, adjoint, flags_));
      }
      case ir::AtomicKind::minf:
      case ir::AtomicKind::maxf:
        return BackwardExtreme(op, address);
      default:
        return replay_.Fail(op.getOperation(), kNoAtomicDerivative);
    }
  }

  // Of several values that are the extreme one, the first to come takes the whole adjoint.
  void BackwardExtreme(ir::AtomicOp op, Value adjoint_address) {
    const mlir::Location loc = op.getLoc();
    const mlir::Type type = op.getValue().getType();
    auto last = b_.create<ir::LoadOp>(loc, type, ExtremeAddress(op));
    last->setDiscardableAttrs(op->getDiscardableAttrDictionary());  // see overwritten.h
    const Value won =
        winner_test_.IsWinner(b_, op.getValue(), last, [&](Value v) { return replay_.Get(v); });
    auto branch = replay_.NewIf(loc, won);
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenBlock());
    auto taken = b_.create<ir::UpdateOp>(loc, type, adjoint_address);
    {
      mlir::OpBuilder::InsertionGuard inner(b_);
      b_.setInsertionPointToStart(&taken.getBodyRegion().emplaceBlock());
      b_.getInsertionBlock()->addArgument(type, loc);
      b_.create<ir::YieldOp>(loc, replay_.Zero(loc, type));
    }
    AddTo(op.getValue(), taken.getOld());
  }

  // Where the extreme value is that the op's loop has left.
  Value ExtremeAddress(ir::AtomicOp op) {
    const Value address = op.getAddress(), local = LocalOf(address);
    if (!local) return replay_.Get(address);
    const Value saved = extremes_.lookup({op->getParentOfType<ir::ParallelForOp>(), local});
    auto element = address.getDefiningOp<ir::ElementOp>();
    if (!element) return saved;
    return b_.create<ir::ElementOp>(op.getLoc(), address.getType(), saved,
                                    replay_.Get(element.getIndex()));
  }

  void BackwardIf(ir::IfOp op) {
    auto copy = replay_.NewIf(op.getLoc(), replay_.Get(op.getCondition()));
    for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
      mlir::OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&to.front());
      Run(from.front());
    }
  }

  void BackwardParallel(ir::ParallelForOp op) {
    mlir::Operation* copy = replay_.Copy(op);
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(replay_.CopyBlock(op.getBody().front(), copy->getRegion(0)));
    Run(op.getBody().front());
    b_.create<ir::ContinueOp>(op.getLoc());
  }

  // --- Loops

  void BackwardLoop(mlir::Operation* op) {
    const mlir::Location loc = op->getLoc();
    LoopTape& tape = *tapes_[op];
    const bool is_for = llvm::isa<ir::ForOp>(op);
    const auto carried = op->getRegion(0).getArguments().drop_front(is_for ? 1 : 0);
    llvm::DenseSet<Value> has_adjoint;
    for (auto [argument, result] : llvm::zip(carried, op->getResults())) {
      if (!activity_.IsActive(argument) && !activity_.IsActive(result)) continue;
      const Value adjoint = NewAdjoint(argument);
      has_adjoint.insert(argument);
      if (activity_.IsActive(result)) b_.create<ir::StoreOp>(loc, AdjointOf(result), adjoint);
    }
    auto reverse = b_.create<ir::ForOp>(loc, mlir::TypeRange(), replay_.Index(loc, 0),
                                        tape.entered(), mlir::ValueRange());
    {
      mlir::OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&reverse.getBodyRegion().emplaceBlock());
      b_.getInsertionBlock()->addArgument(b_.getI64Type(), loc);
      tape.Take(reverse);
      // The iteration's end passes on what has come from those behind it.
      llvm::SmallVector<Value> seeds;
      for (Value argument : carried) {
        const bool has = has_adjoint.contains(argument);
        seeds.push_back(has ? AdjointOf(argument) : Value());
        if (has) {
          b_.create<ir::StoreOp>(loc, replay_.Zero(loc, argument.getType()),
                                 adjoints_.lookup(argument));
        }
      }
      std::swap(seeds, seeds_);
      Run(op->getRegion(0).front());
      std::swap(seeds, seeds_);
      tape.Finish();
      b_.create<ir::ContinueOp>(loc);
    }
    const mlir::ValueRange inits = op->getOperands().drop_front(is_for ? 2 : 0);
    for (auto [argument, init] : llvm::zip(carried, inits)) {
      if (has_adjoint.contains(argument)) AddTo(init, AdjointOf(argument));
    }
  }

  ir::KernelOp kernel_;
  const Activity activity_;
  const Dropped dropped_;
  Replay replay_;
  mlir::OpBuilder& b_;  // of replay_
  const arith::FastMathFlags flags_;
  llvm::DenseSet<mlir::Operation*> active_ops_;  // with the ops around them
  llvm::DenseMap<Value, Value> adjoints_;        // by primal value or local: addresses
  // Of the loop that is reversed: by carried value; null: inactive.
  llvm::SmallVector<Value> seeds_;
  llvm::DenseMap<mlir::Operation*, std::unique_ptr<LoopTape>> tapes_;
  // By op with code in it: locals, and the copies of their memory as the op found it.
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<std::pair<Value, Value>>> saved_;
  // By parallel loop and local: a copy of the local behind the loop.
  llvm::DenseMap<std::pair<mlir::Operation*, Value>, Value> extremes_;
  WinnerTest winner_test_;
};

}  // namespace

mlir::LogicalResult Reverse(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions) {
  return Reversal(kernel, companions).Run();
}

}  // namespace kiln
