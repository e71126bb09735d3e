// Store-to-load forwarding and redundant load elimination, across regions.
//
//   kiln.store %v, %a                 kiln.store %v, %a
//   %x = kiln.load %a        ->       ... uses of %x use %v
//   %y = kiln.load %a                 ... and those of %y, too
//
// One walk in program order keeps a table of known values: those that were last stored to, or
// loaded from, an address. A write removes what it may overwrite. An if starts with the table
// before it. A loop starts with that table without anything that its body may write, because the
// body may run again. Neither adds to the table of the code behind it.
//
//   - Plain writes of other threads would be data races, so they remove nothing.
//   - Calls and deactivation may write all memory but locals.
//   - Stores that may be lost add nothing: those to cells that they may not activate, or whose
//     indices may be out of range.
//
// As `carry-branches`, an if whose block stores to a cell that code behind it loads also yields
// what the cell then holds; the load before it is the one behind it, moved:
//
//   kiln.if %c {                      %old = kiln.load %a
//     kiln.store %v, %a               %x = kiln.if %c {
//   }                        ->         kiln.store %v, %a
//   %x = kiln.load %a                   kiln.yield %v
//                                     } else { kiln.yield %old }
//
// LLVM would join loads of neighbouring cells, for which processors wait after a narrower store.
//
//   - Addresses in trees stay, since a store there may activate a cell.
//   - So does a load that the code may not reach: its address may be out of range.
//
// Requires: CSE ran, since two addresses are known to be equal only if they are one value.
// `carry-branches` comes after differentiation: what a load that moved gives is overwritten.
// Guarantees: no load in a block gives a value that the table had there.
#include <algorithm>
#include <vector>

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

// Memory below a deactivated cell reads as zero.
constexpr unsigned kWritesAnywhere = kTouchesMemory | kDeactivates;

// Values known to be at addresses, oldest first.
class Known {
 public:
  mlir::Value Find(mlir::Value address) const {
    for (const Entry& entry : entries_) {
      if (entry.address == address) return entry.value;
    }
    return {};
  }

  void Add(mlir::Value address, mlir::Value value) {
    if (entries_.size() == kMost) entries_.erase(entries_.begin());
    entries_.push_back({address, ClassOf(address), value});
  }

  void Forget(mlir::Value written) {
    const MemoryClass cells = ClassOf(written);
    llvm::erase_if(entries_, [&](const Entry& entry) {
      return MayOverlap(entry.cells, cells) && MayBeSame(entry.address, written);
    });
  }

  void ForgetAllButLocals() {
    llvm::erase_if(entries_,
                   [](const Entry& entry) { return entry.cells.kind != MemoryClass::kLocal; });
  }

  void Forget(llvm::ArrayRef<MemoryClass> written) {
    llvm::erase_if(entries_, [&](const Entry& entry) {
      return llvm::any_of(written,
                          [&](const MemoryClass& cells) { return MayOverlap(cells, entry.cells); });
    });
  }

 private:
  // Every access searches the table, so a bound keeps the pass linear. This one has room for the
  // components of several cells and small matrices.
  static constexpr size_t kMost = 48;
  struct Entry {
    mlir::Value address;
    MemoryClass cells;
    mlir::Value value;
  };
  std::vector<Entry> entries_;
};

class Forwarding {
 public:
  Forwarding(ir::KernelOp kernel, bool carries) : functions_(kernel), carries_(carries) {}

  // Returns the table at the region's end.
  Known Run(mlir::Region& region, Known known) {
    for (mlir::Block& block : region) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block)) Visit(op, &known);
    }
    return known;
  }

 private:
  void Visit(mlir::Operation& op, Known* known) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) return VisitLoad(load, known);
    if (llvm::isa<ir::FunctionOp>(op)) return (void)Run(op.getRegion(0), {});
    // An update's body touches no memory.
    if (op.getNumRegions() > 0 && !llvm::isa<ir::UpdateOp>(op)) return VisitRegions(op, known);
    const Effects effects = functions_.EffectsOf(&op);
    if (effects.Has(kWritesAnywhere)) known->ForgetAllButLocals();
    for (mlir::Value address : effects.writes) known->Forget(address);
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) VisitStore(store, known);
  }

  void VisitLoad(ir::LoadOp load, Known* known) {
    if (mlir::Value value = known->Find(load.getAddress())) {
      load.getValue().replaceAllUsesWith(value);
      load.erase();
    } else {
      known->Add(load.getAddress(), load.getValue());
    }
  }

  void VisitStore(ir::StoreOp store, Known* known) {
    ir::GlobalOp in_tree = GlobalInTree(store.getAddress());
    const bool may_be_lost = in_tree && (in_tree.getNoActivate() || !IsInRange(in_tree));
    if (!may_be_lost) known->Add(store.getAddress(), store.getValue());
  }

  void VisitRegions(mlir::Operation& op, Known* known) {
    const llvm::SmallVector<MemoryClass> written = Written(op);
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) return VisitIf(branch, written, known);
    // Loops and tasks: an iteration sees what earlier ones wrote.
    known->Forget(written);
    for (mlir::Region& region : op.getRegions()) Run(region, *known);
  }

  void VisitIf(ir::IfOp branch, llvm::ArrayRef<MemoryClass> written, Known* known) {
    llvm::SmallVector<ir::LoadOp> carried;
    if (carries_) carried = LoadsBehind(branch);
    llvm::SmallVector<mlir::Operation*> moved;
    for (ir::LoadOp load : carried) {
      if (known->Find(load.getAddress())) continue;
      moved.push_back(mlir::OpBuilder(branch).clone(*load));
      known->Add(load.getAddress(), moved.back()->getResult(0));
    }
    const Known then_known = Run(branch.getThenRegion(), *known);
    const Known else_known = Run(branch.getElseRegion(), *known);
    known->Forget(written);
    llvm::SmallVector<mlir::Value> addresses, then_values, else_values;
    for (ir::LoadOp load : carried) {
      const mlir::Value address = load.getAddress();
      const mlir::Value then_value = then_known.Find(address);
      const mlir::Value else_value = else_known.Find(address);
      if (!then_value || !else_value) continue;
      addresses.push_back(address);
      then_values.push_back(then_value);
      else_values.push_back(else_value);
    }
    if (!addresses.empty()) {
      const mlir::ValueRange results = AddResults(branch, then_values, else_values);
      for (const auto& [address, value] : llvm::zip(addresses, results)) known->Add(address, value);
    }
    // If both blocks store, nothing uses what was there before.
    for (mlir::Operation* load : moved) {
      if (load->use_empty()) load->erase();
    }
  }

  // Those in the code behind an if that is sure to load what the if's blocks stored.
  llvm::SmallVector<ir::LoadOp> LoadsBehind(ir::IfOp branch) {
    llvm::SetVector<mlir::Value> stored;
    for (mlir::Region& region : branch->getRegions()) {
      if (functions_.Any(region, kLeaves | kFails)) return {};
      for (auto store : region.front().getOps<ir::StoreOp>()) {
        if (IsOutside(store.getAddress(), branch)) stored.insert(store.getAddress());
      }
    }
    llvm::SmallVector<ir::LoadOp> loads;
    int left = kFarthestLoad;
    for (mlir::Operation* op = branch->getNextNode(); op && --left > 0 && !stored.empty();
         op = op->getNextNode()) {
      if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
        if (stored.remove(load.getAddress())) loads.push_back(load);
        continue;
      }
      if (MayEnd(*op)) break;
      const llvm::SmallVector<MemoryClass> written = Written(*op);
      stored.remove_if([&](mlir::Value address) {
        const MemoryClass cells = ClassOf(address);
        return llvm::any_of(written, [&](const MemoryClass& of) { return MayOverlap(of, cells); });
      });
    }
    return loads;
  }

  // Whether the code before the branch has the address, of a cell that is there in any case.
  static bool IsOutside(mlir::Value address, ir::IfOp branch) {
    auto global = address.getDefiningOp<ir::GlobalOp>();
    return global && !GlobalInTree(address) && !branch->isAncestor(global);
  }

  // Whether the next op may not be reached.
  bool MayEnd(mlir::Operation& op) {
    if (functions_.EffectsOf(&op).Has(kLeaves | kFails)) return true;
    return llvm::any_of(op.getRegions(), [&](mlir::Region& region) {
      return functions_.Any(region, kLeaves | kFails);
    });
  }

  // Replaces the if by one that yields these values, too; returns its results for them.
  static mlir::ValueRange AddResults(ir::IfOp branch, llvm::ArrayRef<mlir::Value> then_values,
                                     llvm::ArrayRef<mlir::Value> else_values) {
    mlir::OpBuilder builder(branch);
    llvm::SmallVector<mlir::Type> types(branch->getResultTypes());
    const size_t old = types.size();
    for (mlir::Value value : then_values) types.push_back(value.getType());
    auto made = builder.create<ir::IfOp>(branch.getLoc(), types, branch.getCondition());
    made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
    made.getThenRegion().takeBody(branch.getThenRegion());
    made.getElseRegion().takeBody(branch.getElseRegion());
    const auto yield = [](mlir::Block& block, llvm::ArrayRef<mlir::Value> values) {
      mlir::Operation* end = block.getTerminator();
      end->insertOperands(end->getNumOperands(), values);
    };
    yield(made.getThenBlock(), then_values);
    yield(made.getElseBlock(), else_values);
    branch->replaceAllUsesWith(made->getResults().take_front(old));
    branch->erase();
    return made->getResults().drop_front(old);
  }

  // All that the op, with everything in its regions, may write.
  llvm::SmallVector<MemoryClass> Written(mlir::Operation& op) {
    llvm::SmallVector<MemoryClass> classes;
    const auto add = [&](const MemoryClass& cells) {
      if (!llvm::is_contained(classes, cells)) classes.push_back(cells);
    };
    op.walk([&](mlir::Operation* inner) {
      const Effects effects = functions_.EffectsOf(inner);
      for (mlir::Value address : effects.writes) add(ClassOf(address));
      if (effects.Has(kWritesAnywhere)) add({});
    });
    return classes;
  }

  // How many ops behind an if are looked at: a bound keeps the pass linear.
  static constexpr int kFarthestLoad = 64;

  FunctionFacts functions_;
  const bool carries_;
};

struct ForwardStoresPass : mlir::PassWrapper<ForwardStoresPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForwardStoresPass)
  llvm::StringRef getArgument() const override { return "forward-stores"; }
  void runOnOperation() override {
    Forwarding(getOperation(), false).Run(getOperation().getBodyRegion(), {});
  }
};

struct CarryBranchesPass : mlir::PassWrapper<CarryBranchesPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CarryBranchesPass)
  llvm::StringRef getArgument() const override { return "carry-branches"; }
  void runOnOperation() override {
    Forwarding(getOperation(), true).Run(getOperation().getBodyRegion(), {});
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateForwardStoresPass() {
  return std::make_unique<ForwardStoresPass>();
}

std::unique_ptr<mlir::Pass> CreateCarryBranchesPass() {
  return std::make_unique<CarryBranchesPass>();
}

}  // namespace kiln
