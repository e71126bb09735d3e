#include "server/compiler/dialect/math_calls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln {

namespace math = mlir::math;

bool IsLibraryCall(mlir::Operation& op) {
  if (llvm::isa<mlir::arith::RemFOp>(op)) return true;
  // The few that are no call: a new operation is one until it is named here.
  return llvm::isa<math::MathDialect>(op.getDialect()) &&
         !llvm::isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::RsqrtOp, math::FloorOp,
                    math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp, math::CtPopOp,
                    math::CopySignOp, math::FmaOp, math::CountLeadingZerosOp,
                    math::CountTrailingZerosOp>(op);
}

}  // namespace kiln
