#include "server/compiler/autodiff/dropped.h"

#include "mlir/IR/Matchers.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/autodiff/replay.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Value;

bool IsFloat(Value value) { return llvm::isa<mlir::FloatType>(value.getType()); }

// Adds the floats that `next` reaches from the values in `found`, also through locals.
void Close(llvm::SmallVector<Value> found, llvm::DenseSet<Value>* all,
           void (*next)(Value, llvm::function_ref<void(Value)>)) {
  for (Value value : found) all->insert(value);
  while (!found.empty()) {
    next(found.pop_back_val(), [&](Value reached) {
      if (!IsFloat(reached) && !llvm::isa<ir::AddrType>(reached.getType())) return;
      if (all->insert(reached).second) found.push_back(reached);
    });
  }
}

// Whether the op may return an infinity or NaN for usual operands.
bool HasPole(mlir::Operation* op) {
  if (llvm::isa<arith::DivFOp, arith::RemFOp>(op)) {
    llvm::APFloat divisor(0.0);
    return !matchPattern(op->getOperand(1), mlir::m_ConstantFloat(&divisor)) || divisor.isZero();
  }
  return llvm::isa<math::SqrtOp, math::ExpOp, math::LogOp, math::PowFOp, math::FPowIOp,
                   math::AsinOp, math::AcosOp>(op);
}

// Whether control may reach the value without reaching the use.
bool MayMiss(Value value, mlir::Operation* use) {
  if (llvm::isa<arith::SelectOp, arith::MinNumFOp, arith::MaxNumFOp>(use)) return true;
  mlir::Block* block = value.getParentBlock();
  for (mlir::Operation* at = use; at->getBlock() != block; at = at->getParentOp()) {
    if (llvm::isa<ir::IfOp>(at->getParentOp())) return true;
  }
  return false;
}

}  // namespace

Dropped::Dropped(ir::KernelOp kernel) {
  llvm::SmallVector<Value> dropped, infinite;
  llvm::DenseSet<mlir::Block*> left;  // blocks in which control may leave a loop
  kernel.walk([&](mlir::Operation* op) {
    if (MayExit(op)) left.insert(op->getBlock());
  });
  kernel.walk([&](mlir::Operation* op) {
    if (HasPole(op)) infinite.push_back(op->getResult(0));
    for (Value value : op->getOperands()) {
      if (!IsFloat(value)) continue;
      if (left.contains(value.getParentBlock()) || MayMiss(value, op)) dropped.push_back(value);
    }
  });
  Close(std::move(dropped), &dropped_, &VisitGivers);
  Close(std::move(infinite), &infinite_, &VisitTakers);
}

bool Dropped::HidesInfinity(mlir::Operation* op, unsigned i) const {
  if (!dropped_.contains(op->getResult(0))) return false;
  if (llvm::isa<arith::MulFOp>(op)) return infinite_.contains(op->getOperand(1 - i));
  const bool is_function = llvm::isa<math::SinOp, math::CosOp, math::TanOp, math::TanhOp>(op);
  return is_function && infinite_.contains(op->getOperand(0));
}

}  // namespace kiln
