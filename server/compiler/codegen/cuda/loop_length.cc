#include "server/compiler/codegen/cuda/loop_length.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "server/compiler/dialect/constants.h"

namespace kiln::cuda {
namespace {

namespace arith = mlir::arith;

struct Length {
  uint64_t factor = 1;
  llvm::SmallVector<uint32_t, 4> slots;
};

bool AddFactor(int64_t number, Length* length) {
  return number > 0 &&
         !__builtin_mul_overflow(length->factor, static_cast<uint64_t>(number), &length->factor);
}

void AddSlot(int64_t slot, Length* length) { length->slots.push_back(static_cast<uint32_t>(slot)); }

bool AddExtent(ir::KernelOp kernel, ir::ExtentOp op, Length* length) {
  mlir::Attribute storage = kernel.getStorages()[op.getStorage()];
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage)) {
    AddSlot(array.getExtentSlot(op.getAxis()), length);
    return true;
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
  if (!dense) return false;
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    if (dense.getDigitAxis(d) != static_cast<int64_t>(op.getAxis())) continue;
    // The outermost one may be an argument.
    if (dense.getDigitExtent(d) == 0) {
      AddSlot(dense.getExtentSlot(), length);
    } else if (!AddFactor(dense.getDigitExtent(d), length)) {
      return false;
    }
  }
  return true;
}

// Multiplies by an upper bound of the loop. False: it is no argument.
bool AddUpper(ir::KernelOp kernel, mlir::Value upper, int depth, Length* length) {
  mlir::Operation* op = upper.getDefiningOp();
  // Bounds are a few operations on what they come from.
  constexpr int kMostDepth = 8;
  if (op == nullptr || depth > kMostDepth) return false;
  const auto go_on = [&](unsigned operand) {
    return AddUpper(kernel, op->getOperand(operand), depth + 1, length);
  };
  if (const auto constant = ConstantOf(upper)) return AddFactor(*constant, length);
  if (auto argument = llvm::dyn_cast<ir::ArgumentOp>(op)) {
    if (argument.getIndex() || upper.getType().getIntOrFloatBitWidth() < 32) return false;
    AddSlot(argument.getSlot(), length);
    return true;
  }
  if (auto extent = llvm::dyn_cast<ir::ExtentOp>(op)) return AddExtent(kernel, extent, length);
  if (auto outer = llvm::dyn_cast<ir::OuterExtentOp>(op)) {
    auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[outer.getStorage()]);
    if (dense) AddSlot(dense.getExtentSlot(), length);
    return static_cast<bool>(dense);
  }
  if (llvm::isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op)) return go_on(0);
  // Of a loop that a return may have made empty: its own bound is the last operand.
  if (llvm::isa<arith::SelectOp>(op)) return go_on(2);
  if (llvm::isa<arith::MinSIOp, arith::MaxSIOp>(op)) return go_on(0) || go_on(1);
  // An iteration computes so many rows: the task's items of a thread (RangeTaskOp::getRows).
  if (llvm::isa<arith::DivSIOp>(op)) return ConstantOf(op->getOperand(1)) && go_on(0);
  if (llvm::isa<arith::AddIOp, arith::SubIOp>(op)) {
    return ConstantOf(op->getOperand(1)) && go_on(0);
  }
  return false;
}

}  // namespace

void SetLength(ir::RangeTaskOp op, proto::Task* task) {
  auto kernel = op->getParentOfType<ir::KernelOp>();
  auto bounds = llvm::cast<ir::YieldOp>(op.getBounds().front().getTerminator());
  Length length;
  for (unsigned d = 0; d < bounds.getNumOperands(); d += 2) {
    if (!AddUpper(kernel, bounds.getOperand(d + 1), 0, &length)) return;
  }
  task->set_length_factor(length.factor);
  task->mutable_length_slots()->Assign(length.slots.begin(), length.slots.end());
}

}  // namespace kiln::cuda
