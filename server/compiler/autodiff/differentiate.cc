// Replaces a kernel by its derivative, in forward (forward.h) or reverse mode (reverse.h), after
// checking that it has one. autodiff.h has what the pass requires and guarantees.
#include "server/compiler/autodiff/accesses.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/autodiff/forward.h"
#include "server/compiler/autodiff/overwritten.h"
#include "server/compiler/autodiff/reverse.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {

namespace {

// Random numbers cannot be drawn again.
mlir::LogicalResult CheckRandom(ir::KernelOp kernel) {
  const auto found = kernel.walk([](ir::RandomOp op) {
    op.emitError(
        "RandStmt not supported: the gradient of a kernel with random numbers would draw "
        "others; store them in a field in a kernel of its own");
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(found.wasInterrupted());
}

// What other threads hand over has no derivative here.
mlir::LogicalResult CheckSimt(ir::KernelOp kernel) {
  const auto found = kernel.walk([](ir::SimtOp op) {
    op.emitError("ti.simt operations have no derivatives (ti.simt." + op.getSpelling() + ")");
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(found.wasInterrupted());
}

// Addresses of no known storage, through which derivatives would be lost.
mlir::LogicalResult CheckAddresses(ir::KernelOp kernel) {
  const auto found = kernel.walk([](mlir::Operation* op) {
    const Effects effects = EffectsOf(op);
    for (mlir::Value address : llvm::concat<const mlir::Value>(effects.reads, effects.writes)) {
      if (LocalOf(address) || StorageOf(address) >= 0 || IsOnTape(address)) continue;
      op->emitError("derivatives of what is at this address are not supported");
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return mlir::failure(found.wasInterrupted());
}

void RemoveStopGradients(ir::KernelOp kernel) {
  kernel.walk([](ir::StopGradientOp op) {
    op.getResult().replaceAllUsesWith(op.getValue());
    op.erase();
  });
}

struct DifferentiatePass : mlir::PassWrapper<DifferentiatePass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DifferentiatePass)
  llvm::StringRef getArgument() const override { return "differentiate"; }
  void runOnOperation() override {
    ir::KernelOp kernel = getOperation();
    // The gradient is done: now its derivatives along a direction.
    if (!kernel.getCompanions() && kernel.getDuals()) {
      kernel.setCompanionsAttr(kernel.getDualsAttr());
      kernel.removeDualsAttr();
      kernel.setForward(true);
    }
    const std::optional<llvm::ArrayRef<int64_t>> companions = kernel.getCompanions();
    if (!companions) return;
    if (mlir::failed(CheckSimt(kernel))) return signalPassFailure();
    if (mlir::failed(CheckAddresses(kernel))) return signalPassFailure();
    if (kernel.getForward()) {
      if (mlir::failed(Forward(kernel, *companions))) return signalPassFailure();
    } else {
      if (mlir::failed(CheckRandom(kernel))) return signalPassFailure();
      if (mlir::failed(CheckActivation(kernel))) return signalPassFailure();
      AddWrites(kernel);
      MarkOverwritten(kernel);
      if (mlir::failed(Reverse(kernel, *companions))) return signalPassFailure();
    }
    if (!kernel.getDuals()) RemoveStopGradients(kernel);
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateDifferentiatePass() {
  return std::make_unique<DifferentiatePass>();
}

}  // namespace kiln
