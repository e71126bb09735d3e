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
// Requires: CSE ran, since two addresses are known to be equal only if they are one value.
// Guarantees: no load in a block gives a value that the table had there.
#include <algorithm>
#include <vector>

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
  explicit Forwarding(ir::KernelOp kernel) : functions_(kernel) {}

  void Run(mlir::Region& region, Known known) {
    for (mlir::Block& block : region) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block)) Visit(op, &known);
    }
  }

 private:
  void Visit(mlir::Operation& op, Known* known) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) return VisitLoad(load, known);
    if (llvm::isa<ir::FunctionOp>(op)) return Run(op.getRegion(0), {});
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
    // Loops and tasks: an iteration sees what earlier ones wrote.
    const bool repeats = !llvm::isa<ir::IfOp>(op);
    if (repeats) known->Forget(written);
    for (mlir::Region& region : op.getRegions()) Run(region, *known);
    if (!repeats) known->Forget(written);
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

  FunctionFacts functions_;
};

struct ForwardStoresPass : mlir::PassWrapper<ForwardStoresPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForwardStoresPass)
  llvm::StringRef getArgument() const override { return "forward-stores"; }
  void runOnOperation() override {
    Forwarding(getOperation()).Run(getOperation().getBodyRegion(), {});
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateForwardStoresPass() {
  return std::make_unique<ForwardStoresPass>();
}

}  // namespace kiln
