// Locals become values: what mem2reg is for a control-flow graph, for regions.
//
//   %a = kiln.local                     %r = kiln.for %i = ... carry (%x = %zero : i32) {
//   kiln.store %zero, %a                  %y = addi %x, %i
//   kiln.for %i = ... {            ->     kiln.continue %y : i32
//     ... addi (kiln.load %a), %i       }
//     kiln.store ..., %a
//   }
//
// One walk in program order keeps the value of every local. A region operation takes
// the locals that are stored inside it as carried values (loops) or results (ifs);
// continue, break and yield hand their values on, so no dominance tree is needed.
//
// Promoted: locals that are only loaded and stored, and stored only in the parallel
// loop or task that they belong to. A parallel loop may read one from outside: it sees
// the value at its start. Leaves carried values and results that nobody uses to
// simplify-control.
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
      for (mlir::Operation* op = user->getParentOp(); op != home; op = op->getParentOp()) {
        if (!changed_[op].insert(id)) break;  // and so the operations around it
      }
    }
  }

  // The local's value now. Reading an unset one gives zero.
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
      // Parallel loops and tasks carry nothing.
      loops_.emplace_back();
      for (mlir::Region& region : op.getRegions()) Process(region);
      loops_.pop_back();
    }
  }

  void Append(mlir::Operation& terminator, const Ids& ids) {
    if (ids.empty()) return;
    terminator.insertOperands(terminator.getNumOperands(), Get(ids));
  }

  // The operation with more operands and results, of the same regions.
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
      Set(changed, before);
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
  llvm::DenseMap<mlir::Operation*, Ids> changed_;  // locals stored in it, from outside it
  std::vector<mlir::Value> values_;                // by local
  // What the terminators of the enclosing loops and ifs hand on.
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
