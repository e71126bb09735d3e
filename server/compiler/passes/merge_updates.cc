// Fusion of read-modify-writes: consecutive updates of one word become one update. Quantised
// numbers share words, so an iteration that stores several of them performs a single atomic
// exchange.
//
//   kiln.update %a { ^bb0(%x): kiln.yield f(%x) }
//   kiln.update %a { ^bb0(%x): kiln.yield g(%x) }  ->  kiln.update %a { ... g(f(%x)) }
//
// Fused are updates whose old values are unused, with no other access to memory in between.
//
// Requires: CSE ran, since two addresses are known to be equal only if they are one value.
// Guarantees: other threads see no word that they could not have seen before.
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

// The update that can absorb `first`; null if there is none.
ir::UpdateOp Partner(ir::UpdateOp first) {
  for (mlir::Operation* next = first->getNextNode(); next != nullptr; next = next->getNextNode()) {
    if (auto other = llvm::dyn_cast<ir::UpdateOp>(next)) {
      const bool fits = other.getAddress() == first.getAddress() && other.getOld().use_empty();
      return fits ? other : ir::UpdateOp();
    }
    if (next->getNumRegions() != 0 || !mlir::isMemoryEffectFree(next)) return {};
  }
  return {};
}

// The body of `first` moves to the beginning of that of `second`, which takes its value.
void Fuse(ir::UpdateOp first, ir::UpdateOp second) {
  mlir::Block& before = first.getBody().front();
  mlir::Block& after = second.getBody().front();
  mlir::Operation* yield = before.getTerminator();
  after.getArgument(0).replaceAllUsesWith(yield->getOperand(0));
  yield->erase();
  before.getArgument(0).replaceAllUsesWith(after.getArgument(0));
  after.getOperations().splice(after.begin(), before.getOperations());
  first.erase();
}

struct MergeUpdatesPass : mlir::PassWrapper<MergeUpdatesPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeUpdatesPass)
  llvm::StringRef getArgument() const override { return "merge-updates"; }
  void runOnOperation() override {
    llvm::SmallVector<ir::UpdateOp> updates;
    getOperation().walk([&](ir::UpdateOp update) {
      if (update.getOld().use_empty()) updates.push_back(update);
    });
    for (ir::UpdateOp update : updates) {
      if (ir::UpdateOp next = Partner(update)) Fuse(update, next);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateMergeUpdatesPass() {
  return std::make_unique<MergeUpdatesPass>();
}

}  // namespace kiln
