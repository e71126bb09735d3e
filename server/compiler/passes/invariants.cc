#include "server/compiler/passes/invariants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kiln {

namespace arith = mlir::arith;

bool Invariants::Has(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return false;
  if (llvm::isa<ir::ArgumentOp, ir::ExtentOp, ir::OuterExtentOp, arith::ConstantOp>(op)) {
    return true;
  }
  if (!llvm::isa<arith::ArithDialect>(op->getDialect()) || !mlir::isPure(op)) return false;
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  const bool has = llvm::all_of(op->getOperands(), [&](mlir::Value v) { return Has(v); });
  known_[value] = has;
  return has;
}

mlir::Value CopyInvariant(mlir::OpBuilder& builder, mlir::Value value, mlir::IRMapping* copies) {
  if (mlir::Value known = copies->lookupOrNull(value)) return known;
  mlir::Operation* op = value.getDefiningOp();
  for (mlir::Value operand : op->getOperands()) CopyInvariant(builder, operand, copies);
  return builder.clone(*op, *copies)
      ->getResult(llvm::cast<mlir::OpResult>(value).getResultNumber());
}

}  // namespace kiln
