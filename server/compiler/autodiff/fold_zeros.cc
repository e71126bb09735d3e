// Removal of additions of zero, which the reverse of a kernel is full of: each adjoint starts at
// zero. MLIR folds them for -0.0 only. Here the operations are those for which the sign of zero
// does not count; sums of adjoints always are. An adjoint that a loop only hands on then is the
// same in all iterations, and simplify-control takes it out of the loop.
#include "mlir/IR/Matchers.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

namespace {

struct FoldZerosPass : mlir::PassWrapper<FoldZerosPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldZerosPass)
  llvm::StringRef getArgument() const override { return "fold-zeros"; }
  void runOnOperation() override {
    getOperation().walk([](mlir::arith::AddFOp add) {
      const bool ignores_sign =
          bitEnumContainsAny(add.getFastmath(), mlir::arith::FastMathFlags::nsz);
      if (!ignores_sign) return;
      for (unsigned zero : {0, 1}) {
        if (!matchPattern(add->getOperand(zero), mlir::m_AnyZeroFloat())) continue;
        add.getResult().replaceAllUsesWith(add->getOperand(1 - zero));
        add.erase();
        return;
      }
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateFoldZerosPass() { return std::make_unique<FoldZerosPass>(); }

}  // namespace kiln
