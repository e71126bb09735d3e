#include "server/compiler/autodiff/addition.h"

#include "mlir/IR/Builders.h"
#include "server/compiler/autodiff/linear.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace arith = mlir::arith;
using mlir::Value;

namespace {

bool ParseLoops(ir::ParallelForOp loop, Addition* out) {
  llvm::SmallVector<ir::ForOp> inner;
  for (mlir::Operation* at = out->op->getParentOp(); at != loop; at = at->getParentOp()) {
    if (llvm::isa<ir::IfOp>(at)) continue;
    auto counted = llvm::dyn_cast<ir::ForOp>(at);
    if (!counted || !IsOutside(loop, counted.getLower()) || !IsOutside(loop, counted.getUpper())) {
      return false;
    }
    inner.push_back(counted);
  }
  for (auto [d, index] : llvm::enumerate(loop.getBody().getArguments())) {
    out->indices.push_back({index, loop.getLowers()[d], loop.getUppers()[d]});
  }
  for (ir::ForOp counted : llvm::reverse(inner)) {
    out->indices.push_back({counted.getIndex(), counted.getLower(), counted.getUpper()});
  }
  return true;
}

bool ParseAxis(ir::KernelOp kernel, ir::ParallelForOp loop, int64_t number, Addition* out) {
  const Value index = out->address.getIndices()[number];
  Axis& axis = out->axes.emplace_back();
  if (IsOutside(loop, index)) {
    axis.fixed = index;
    return true;
  }
  Linear sum;
  sum.Add(index, 1);
  sum.terms.remove_if([](const auto& term) { return term.second == 0; });
  if (sum.number != static_cast<int32_t>(sum.number)) return false;
  if (sum.terms.empty()) {
    mlir::OpBuilder b(loop);
    axis.fixed = b.create<arith::ConstantOp>(loop.getLoc(),
                                             b.getI32IntegerAttr(static_cast<int32_t>(sum.number)));
    return true;
  }
  if (sum.terms.size() != 1) return false;
  const auto& [value, factor] = *sum.terms.begin();
  if (factor != 1 && factor != -1) return false;
  const auto* at =
      llvm::find_if(out->indices, [&](const LoopIndex& i) { return i.value == value; });
  if (at == out->indices.end()) return false;
  axis.index = static_cast<int>(at - out->indices.begin());
  axis.sign = static_cast<int>(factor);
  axis.offset = sum.number;
  // Cells of different indices must differ.
  return Distinguishes(kernel, out->address.getStorage(), out->address.getComponent(), number);
}

}  // namespace

std::optional<Addition> ParseAddition(ir::KernelOp kernel, ir::ParallelForOp loop,
                                      ir::AtomicOp op) {
  Addition found;
  found.op = op;
  found.address = op.getAddress().getDefiningOp<ir::GlobalOp>();
  if (op.getKind() != ir::AtomicKind::addf || !op.getOld().use_empty() || !found.address ||
      GlobalInTree(op.getAddress()) || !ParseLoops(loop, &found)) {
    return {};
  }
  const auto num_axes = static_cast<int64_t>(found.address.getIndices().size());
  for (int64_t axis = 0; axis < num_axes; ++axis) {
    if (!ParseAxis(kernel, loop, axis, &found)) return {};
  }
  for (int i = 0; i < static_cast<int>(found.indices.size()); ++i) {
    const auto of_index = [&](const Axis& axis) { return axis.index == i; };
    if (llvm::count_if(found.axes, of_index) > 1) return {};
  }
  return found;
}

bool IsBesideOwn(ir::ParallelForOp loop, const Addition& addition) {
  const int dimensions = static_cast<int>(loop.getLowers().size());
  for (int d = 0; d < dimensions; ++d) {
    if (!addition.HasIndex(d)) return false;
  }
  return llvm::all_of(addition.axes, [&](const Axis& axis) { return axis.index < dimensions; });
}

bool IsOwnCell(ir::KernelOp kernel, ir::ParallelForOp loop, ir::GlobalOp cell) {
  for (Value index : loop.getBody().getArguments()) {
    bool is_axis = false;
    for (auto [axis, value] : llvm::enumerate(cell.getIndices())) {
      is_axis |= value == index && Distinguishes(kernel, cell.getStorage(), cell.getComponent(),
                                                 static_cast<int64_t>(axis));
    }
    if (!is_axis) return false;
  }
  return true;
}

std::optional<double> NumCells(const Addition& addition) {
  double cells = 1;
  for (const Axis& axis : addition.axes) {
    if (axis.index < 0) continue;
    const LoopIndex& index = addition.indices[axis.index];
    const auto bounds = ConstantBoundsOf(index.lower, index.upper);
    if (!bounds) return {};
    cells *= static_cast<double>(bounds->upper - bounds->lower);
  }
  return cells;
}

bool IsOutside(ir::ParallelForOp loop, Value value) {
  return !loop.getBodyRegion().isAncestor(value.getParentRegion());
}

Value ComputeAgain(mlir::OpBuilder& b, ir::ParallelForOp loop, Value value, mlir::IRMapping& at) {
  if (at.contains(value)) return at.lookup(value);
  if (IsOutside(loop, value)) return value;
  mlir::Operation* op = value.getDefiningOp();
  for (Value operand : op->getOperands()) ComputeAgain(b, loop, operand, at);
  b.clone(*op, at);
  return at.lookup(value);
}

bool HasOnlyMemoryOps(ir::ParallelForOp loop) {
  const auto found = loop.walk([&](mlir::Operation* op) {
    const bool is_end = llvm::isa<ir::ContinueOp, ir::YieldOp>(op);
    const bool ends_early = llvm::isa<ir::ContinueOp>(op) && llvm::isa<ir::IfOp>(op->getParentOp());
    const bool is_memory = is_end || (EffectsOf(op).bits & ~kIsAtomic) == 0;
    return ends_early || !is_memory ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return !found.wasInterrupted();
}

}  // namespace kiln
