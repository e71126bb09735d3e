// Promotion of scalar locals to SSA values: mem2reg, for regions instead of a control-flow graph.
//
//   %a = kiln.local                     %r = kiln.for %i = ... carry (%x = %zero : i32) {
//   kiln.store %zero, %a                  %y = addi %x, %i
//   kiln.for %i = ... {            ->     kiln.continue %y : i32
//     ... addi (kiln.load %a), %i       }
//     kiln.store ..., %a
//   }
//
// One walk in program order keeps the current value of every local. Regions are the only joins of
// control, so no dominance frontiers are needed: a loop carries each local that its body stores, an
// if returns each local that a branch stores, and every continue, break and yield passes their
// current values on.
//
// Promoted are locals that are only loaded and stored, and stored only within the parallel loop or
// task that they belong to. A parallel loop may load a local from outside it: that is the value at
// the loop's start, since no iteration can change it.
//
// Guarantees: no kiln.local remains of those. May leave unused or unchanged carried values and
// results, which simplify-control removes.
#include <vector>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

using Ids = llvm::SmallSetVector<int, 8>;

class Promotion {
 public:
  explicit Promotion(mlir::Operation* root) : root_(root), builder_(root->getContext()) {}

  void Run() {
    root_->walk([&](ir::LocalOp local) {
      if (IsPromotable(local)) AddLocal(local);
    });
    if (locals_.empty()) return;
    values_.resize(locals_.size());
    for (mlir::Region& region : root_->getRegions()) Process(region);
    for (ir::LocalOp local : locals_) local.erase();
  }

 private:
  bool IsPromotable(ir::LocalOp local) {
    mlir::Operation* scope = ParallelScope(local);
    return llvm::all_of(local->getUses(), [&](mlir::OpOperand& use) {
      if (llvm::isa<ir::LoadOp>(use.getOwner())) return true;
      return llvm::isa<ir::StoreOp>(use.getOwner()) && ParallelScope(use.getOwner()) == scope;
    });
  }

  void AddLocal(ir::LocalOp local) {
    const int id = locals_.size();
    locals_.push_back(local);
    ids_[local.getAddress()] = id;
    mlir::Operation* home = local->getParentOp();
    for (mlir::Operation* user : local->getUsers()) {
      if (!llvm::isa<ir::StoreOp>(user)) continue;
      // An op that has the local already has passed it to all ops around it, too.
      for (mlir::Operation* op = user->getParentOp(); op != home; op = op->getParentOp()) {
        if (!changed_[op].insert(id)) break;
      }
    }
  }

  // The local's current value. Zero if none was stored: the kernel's language zeroes variables.
  mlir::Value Get(int id) {
    if (!values_[id]) {
      ir::LocalOp local = locals_[id];
      builder_.setInsertionPoint(local);
      auto type = llvm::cast<ir::AddrType>(local.getAddress().getType()).getPointee();
      values_[id] = builder_.create<mlir::arith::ConstantOp>(
          local.getLoc(), llvm::cast<mlir::TypedAttr>(builder_.getZeroAttr(type)));
    }
    return values_[id];
  }

  llvm::SmallVector<mlir::Value> Get(const Ids& ids) {
    llvm::SmallVector<mlir::Value> values;
    for (int id : ids) values.push_back(Get(id));
    return values;
  }

  void Set(const Ids& ids, mlir::ValueRange values) {
    for (auto [id, value] : llvm::zip(ids, values)) values_[id] = value;
  }

  void Process(mlir::Region& region) {
    for (mlir::Block& block : region) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block)) Process(op);
    }
  }

  void Process(mlir::Operation& op) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      if (auto it = ids_.find(load.getAddress()); it != ids_.end()) {
        load.getValue().replaceAllUsesWith(Get(it->second));
        load.erase();
      }
    } else if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) {
      if (auto it = ids_.find(store.getAddress()); it != ids_.end()) {
        values_[it->second] = store.getValue();
        store.erase();
      }
    } else if (auto local = llvm::dyn_cast<ir::LocalOp>(op)) {
      if (auto it = ids_.find(local.getAddress()); it != ids_.end()) values_[it->second] = {};
    } else if (llvm::isa<ir::ContinueOp, ir::BreakOp>(op)) {
      Append(op, loops_.back());
    } else if (llvm::isa<ir::YieldOp>(op)) {
      if (llvm::isa<ir::IfOp>(op.getParentOp())) Append(op, ifs_.back());
    } else if (llvm::isa<ir::IfOp>(op)) {
      ProcessIf(op);
    } else if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) {
      ProcessLoop(op);
    } else if (op.getNumRegions() > 0) {
      // Parallel loops and tasks carry nothing: their locals are stored in them alone.
      loops_.emplace_back();
      for (mlir::Region& region : op.getRegions()) Process(region);
      loops_.pop_back();
    }
  }

  void Append(mlir::Operation& terminator, const Ids& ids) {
    if (ids.empty()) return;
    terminator.insertOperands(terminator.getNumOperands(), Get(ids));
  }

  // Replaces the op by one with the same regions and more operands and results.
  mlir::Operation* Widen(mlir::Operation& op, mlir::ValueRange operands, mlir::TypeRange results) {
    llvm::SmallVector<mlir::Value> all_operands(op.getOperands());
    llvm::append_range(all_operands, operands);
    llvm::SmallVector<mlir::Type> all_results(op.getResultTypes());
    llvm::append_range(all_results, results);
    mlir::OperationState state(op.getLoc(), op.getName(), all_operands, all_results, op.getAttrs());
    for (mlir::Region& region : op.getRegions()) state.addRegion()->takeBody(region);
    builder_.setInsertionPoint(&op);
    mlir::Operation* wide = builder_.create(state);
    op.replaceAllUsesWith(wide->getResults().take_front(op.getNumResults()));
    op.erase();
    return wide;
  }

  void ProcessIf(mlir::Operation& op) {
    const Ids changed = changed_.lookup(&op);
    const llvm::SmallVector<mlir::Value> before = Get(changed);
    const mlir::ValueRange range(before);
    mlir::Operation* branch = changed.empty() ? &op : Widen(op, {}, range.getTypes());
    ifs_.push_back(changed);
    for (mlir::Region& region : branch->getRegions()) {
      Set(changed, before);  // both branches start with the same values
      Process(region);
    }
    ifs_.pop_back();
    Set(changed, branch->getResults().take_back(changed.size()));
  }

  void ProcessLoop(mlir::Operation& op) {
    const Ids changed = changed_.lookup(&op);
    const llvm::SmallVector<mlir::Value> before = Get(changed);
    const mlir::ValueRange range(before);
    mlir::Operation* loop = changed.empty() ? &op : Widen(op, before, range.getTypes());
    mlir::Block& body = loop->getRegion(0).front();
    // Within the loop a local is what the previous iteration passed on.
    for (auto [id, value] : llvm::zip(changed, before)) {
      values_[id] = body.addArgument(value.getType(), value.getLoc());
    }
    loops_.push_back(changed);
    Process(loop->getRegion(0));
    loops_.pop_back();
    Set(changed, loop->getResults().take_back(changed.size()));
  }

  mlir::Operation* root_;
  mlir::OpBuilder builder_;
  std::vector<ir::LocalOp> locals_;
  llvm::DenseMap<mlir::Value, int> ids_;
  llvm::DenseMap<mlir::Operation*, Ids> changed_;  // the outer locals that an op's regions store
  std::vector<mlir::Value> values_;  // the current value, by local; null: not read yet
  // What the terminators of the enclosing loops and ifs pass on, innermost last.
  std::vector<Ids> loops_;
  std::vector<Ids> ifs_;
};

struct PromoteLocalsPass : mlir::PassWrapper<PromoteLocalsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PromoteLocalsPass)
  llvm::StringRef getArgument() const override { return "promote-locals"; }
  void runOnOperation() override { Promotion(getOperation()).Run(); }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreatePromoteLocalsPass() {
  return std::make_unique<PromoteLocalsPass>();
}

}  // namespace kiln
