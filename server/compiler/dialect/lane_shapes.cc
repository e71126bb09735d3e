#include "server/compiler/dialect/lane_shapes.h"

#include "server/compiler/dialect/constants.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;

// Larger strides are as good as none, and would make sums of them overflow.
constexpr int64_t kMaxStride = int64_t{1} << 31;

// The loop or task body that a continue or break ends.
mlir::Operation* LoopOf(mlir::Operation* end) {
  mlir::Operation* up = end->getParentOp();
  while (llvm::isa<ir::IfOp>(up)) up = up->getParentOp();
  return up;
}

}  // namespace

LaneShapes::LaneShapes(ir::RangeTaskOp task) : root_(task) {
  mlir::Block& body = task.getBody().front();
  ends_.try_emplace(task);
  FindEnds(body);
  Mark(task.getIndices().back(), 1);
  for (mlir::Value accumulator : task.getAccumulators()) Mark(accumulator, {});
  EvaluateAll(body);
}

LaneShapes::LaneShapes(ir::ForOp loop) : root_(loop) {
  mlir::Block& body = loop.getBody().front();
  ends_.try_emplace(loop);
  FindEnds(body);
  Mark(loop.getIndex(), 1);
  for (mlir::Value carried : loop.getCarried()) Mark(carried, {});
  EvaluateAll(body);
}

void LaneShapes::EvaluateAll(mlir::Block& body) {
  // Each op once, for those that vary by themselves; then those whose operands changed. A value
  // changes at most twice, so this ends.
  body.walk([&](mlir::Operation* op) { pending_.insert(op); });
  while (!pending_.empty()) Evaluate(pending_.pop_back_val());
}

std::optional<int64_t> LaneShapes::StrideOf(mlir::Value value) const {
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? 0 : found->second;
}

void LaneShapes::FindEnds(mlir::Block& block) {
  block.walk([&](mlir::Operation* op) {
    if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) ends_.try_emplace(op);
  });
  block.walk([&](mlir::Operation* op) {
    if (!llvm::isa<ir::ContinueOp, ir::BreakOp>(op)) return;
    mlir::Operation* loop = LoopOf(op);
    if (auto next = llvm::dyn_cast<ir::ContinueOp>(op)) ends_[loop].continues.push_back(next);
    if (auto leave = llvm::dyn_cast<ir::BreakOp>(op)) ends_[loop].breaks.push_back(leave);
    for (mlir::Operation* up = op->getParentOp(); up != loop; up = up->getParentOp()) {
      leaving_.insert(up);
    }
  });
}

void LaneShapes::Mark(mlir::Value value, Shape shape) {
  const auto [known, is_new] = shapes_.try_emplace(value, shape);
  if (!is_new) {
    if (!known->second || known->second == shape) return;
    known->second = {};
  }
  for (mlir::Operation* user : value.getUsers()) {
    // The values of terminators are those of what they end.
    if (llvm::isa<ir::YieldOp>(user)) user = user->getParentOp();
    if (llvm::isa<ir::ContinueOp, ir::BreakOp>(user)) user = LoopOf(user);
    pending_.insert(user);
  }
}

void LaneShapes::Evaluate(mlir::Operation* op) {
  if (op == root_) return;
  if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) return EvaluateIf(branch);
  if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) return EvaluateLoop(op);
  // Each lane has its own locals, old values and random numbers.
  if (llvm::isa<ir::LocalOp, ir::LocalArrayOp, ir::AtomicOp, ir::RandomOp, ir::UpdateOp,
                ir::CallOp>(op)) {
    for (mlir::Value result : op->getResults()) Mark(result, {});
    return;
  }
  if (llvm::none_of(op->getOperands(), [&](mlir::Value v) { return Varies(v); })) return;
  const Shape shape = ArithmeticShape(op);
  for (mlir::Value result : op->getResults()) Mark(result, shape);
}

// Of ops with an operand that varies.
LaneShapes::Shape LaneShapes::ArithmeticShape(mlir::Operation* op) const {
  const auto scaled = [&](int64_t factor) -> Shape {
    const Shape stride = StrideOf(op->getOperand(0));
    if (!stride || std::abs(factor) > kMaxStride) return {};
    const int64_t product = *stride * factor;
    return std::abs(product) > kMaxStride ? Shape() : Shape(product);
  };
  // Sums may wrap. Addresses are computed without wrapping (codegen/affine.h), so that the stride
  // holds for them.
  if (llvm::isa<arith::AddIOp, arith::SubIOp>(op)) {
    const Shape a = StrideOf(op->getOperand(0)), b = StrideOf(op->getOperand(1));
    if (!a || !b) return {};
    const int64_t sum = llvm::isa<arith::AddIOp>(op) ? *a + *b : *a - *b;
    return std::abs(sum) > kMaxStride ? Shape() : Shape(sum);
  }
  if (llvm::isa<arith::MulIOp>(op)) {
    if (const auto factor = ConstantOf(op->getOperand(1))) return scaled(*factor);
  }
  if (llvm::isa<arith::ShLIOp>(op)) {
    const auto bits = ConstantOf(op->getOperand(1));
    if (bits && *bits >= 0 && *bits < 31) return scaled(int64_t{1} << *bits);
  }
  if (llvm::isa<arith::ExtSIOp>(op)) return scaled(1);
  return {};
}

void LaneShapes::EvaluateIf(ir::IfOp op) {
  if (Varies(op.getCondition()) && divergent_.insert(op).second && Leaves(op)) {
    // All loops that the branch is in ends of: only the nearest one.
    pending_.insert(LoopOf(op));
  }
  const bool diverges = Diverges(op);
  for (mlir::Region* region : {&op.getThenRegion(), &op.getElseRegion()}) {
    auto yield = llvm::dyn_cast<ir::YieldOp>(region->front().getTerminator());
    if (!yield) continue;
    for (auto [result, value] : llvm::zip(op.getResults(), yield.getValues())) {
      if (diverges || Varies(value)) Mark(result, {});
    }
  }
}

// Whether some lanes may end an iteration of the loop, or the loop, at a place where others do not.
bool LaneShapes::LeavesDiverge(mlir::Operation* loop) const {
  const Ends& ends = EndsOf(loop);
  const auto diverges = [&](mlir::Operation* end) {
    for (mlir::Operation* up = end->getParentOp(); up != loop; up = up->getParentOp()) {
      if (Diverges(up)) return true;
    }
    return false;
  };
  return llvm::any_of(ends.continues, diverges) || llvm::any_of(ends.breaks, diverges);
}

void LaneShapes::EvaluateLoop(mlir::Operation* op) {
  const Ends& ends = EndsOf(op);
  const bool leaves_diverge = LeavesDiverge(op);
  bool diverges = leaves_diverge && !ends.breaks.empty();
  mlir::OperandRange inits = op->getOperands();
  mlir::Block::BlockArgListType carried = op->getRegion(0).getArguments();
  if (auto loop = llvm::dyn_cast<ir::ForOp>(op)) {
    diverges |= Varies(loop.getLower()) || Varies(loop.getUpper());
    if (Varies(loop.getLower())) Mark(loop.getIndex(), {});
    inits = loop.getInits();
    carried = loop.getCarried();
  }
  if (diverges) divergent_.insert(op);
  for (size_t i = 0; i < carried.size(); ++i) {
    bool varies = Varies(inits[i]);
    mlir::Value next;
    for (ir::ContinueOp end : ends.continues) {
      const mlir::Value value = end.getValues()[i];
      varies |= Varies(value);
      // Lanes that end the iteration at different places take different values on.
      varies |= leaves_diverge && next && next != value;
      next = value;
    }
    if (varies) Mark(carried[i], {});
    varies |= diverges;
    for (ir::BreakOp end : ends.breaks) varies |= Varies(end.getValues()[i]);
    if (varies) Mark(op->getResult(i), {});
  }
}

bool HasWholeVectors(ir::RangeTaskOp task) {
  constexpr int kLargeBody = 150;
  int operations = 0;
  task.getBody().walk([&](mlir::Operation*) { ++operations; });
  return operations <= kLargeBody;
}

int DigitsOf(ir::DenseAttr dense, int axis) {
  int count = 0;
  for (int d = 0; d < dense.getNumDigits(); ++d) count += dense.getDigitAxis(d) == axis ? 1 : 0;
  return count;
}

std::optional<int64_t> ByteStride(mlir::Value address, const LaneShapes& shapes,
                                  ir::KernelOp kernel) {
  if (!shapes.Varies(address)) return 0;
  auto global = address.getDefiningOp<ir::GlobalOp>();
  if (!global) return {};
  mlir::Attribute storage = kernel.getStorages()[global.getStorage()];
  const int64_t size = (global.getType().getPointee().getIntOrFloatBitWidth() + 7) / 8;
  int64_t sum = 0;
  for (auto [axis, index] : llvm::enumerate(global.getIndices())) {
    const std::optional<int64_t> stride = shapes.StrideOf(index);
    if (stride == 0) continue;
    if (!stride) return {};
    if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage)) {
      if (array.getClamp() || axis + 1 < global.getIndices().size()) return {};
      sum += *stride * size * (array.getSoa() ? 1 : static_cast<int64_t>(array.getTypes().size()));
      continue;
    }
    auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
    if (!dense || DigitsOf(dense, static_cast<int>(axis)) > 1) return {};
    const int64_t base = dense.getComponentBase(static_cast<int>(global.getComponent()));
    for (int d = 0; d < dense.getNumDigits(); ++d) {
      if (dense.getDigitAxis(d) != static_cast<int64_t>(axis)) continue;
      sum += *stride * dense.getDigitStride(static_cast<int>(base), d);
    }
  }
  return sum;
}

}  // namespace kiln
