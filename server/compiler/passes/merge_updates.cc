// Updates of one word that follow each other become one: fields of one word that an iteration
// writes in turn cost a single exchange.
//
//   kiln.update %a { ^bb0(%x): kiln.yield f(%x) }
//   kiln.update %a { ^bb0(%x): kiln.yield g(%x) }  ->  kiln.update %a { ... g(f(%x)) }
//
// Where nobody asks for the old values, and nothing between the two touches memory. Addresses
// are the same where they are one value, so run CSE before.
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

// The update that `first` can join; null: none.
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

// What `first` makes is what `second` begins with.
void Join(ir::UpdateOp first, ir::UpdateOp second) {
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
      if (ir::UpdateOp next = Partner(update)) Join(update, next);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateMergeUpdatesPass() {
  return std::make_unique<MergeUpdatesPass>();
}

}  // namespace kiln
