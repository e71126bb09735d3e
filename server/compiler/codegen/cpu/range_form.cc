#include "server/compiler/codegen/cpu/range_form.h"

#include <algorithm>

#include "llvm/ADT/bit.h"
#include "server/compiler/codegen/cpu/vectorise.h"
#include "server/compiler/codegen/lane_emitter.h"
#include "server/compiler/passes/cost.h"

namespace kiln::cpu {
namespace {

// Whether an index comes from data or from a float, and so is different in each iteration in no
// way that is known.
bool IsFromData(mlir::Value index, int depth = 8) {
  mlir::Operation* op = index.getDefiningOp();
  if (op == nullptr || depth == 0) return false;
  if (llvm::isa<ir::LoadOp, mlir::arith::FPToSIOp>(op)) return true;
  return llvm::isa<mlir::arith::AddIOp, mlir::arith::SubIOp, mlir::arith::MulIOp,
                   mlir::arith::SelectOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](mlir::Value part) { return IsFromData(part, depth - 1); });
}

// Whether `global` is one address after the other along the innermost dimension of the loop, and
// each iteration has one.
bool IsCellAfterCell(ir::GlobalOp global, ir::RangeTaskOp op) {
  if (!llvm::equal(global.getIndices(), op.getIndices())) return false;
  mlir::Attribute storage = op->getParentOfType<ir::KernelOp>().getStorages()[global.getStorage()];
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage)) {
    return array.getTypes().size() == 1 && !array.getClamp();
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
  if (!dense || dense.getNumDigits() != dense.getAxes()) return false;
  const int base = static_cast<int>(dense.getComponentBase(global.getComponent()));
  const int last = dense.getNumDigits() - 1;
  return dense.getDigitAxis(last) == last &&
         dense.getDigitStride(base, last) == Bytes(global.getType().getPointee());
}

}  // namespace

int FoldedDimensions(const std::vector<Dimension>& dimensions) {
  constexpr int64_t kMaxRow = 16, kMaxBlock = 64;
  int64_t block = 1;
  int folded = 0;
  for (size_t d = dimensions.size(); d-- > 1;) {
    auto* extent = llvm::dyn_cast<llvm::ConstantInt>(dimensions[d].extent);
    // Only innermost ones: outside of an unknown extent, the block would not be a constant.
    if (extent == nullptr || extent->isZero()) break;
    const int64_t cells = extent->getSExtValue();
    if (cells > (folded == 0 ? kMaxRow : kMaxBlock) || block * cells > kMaxBlock) break;
    block *= cells;
    ++folded;
  }
  return folded;
}

ir::IfOp SplitOf(ir::RangeTaskOp op) {
  for (auto branch : op.getBody().front().getOps<ir::IfOp>()) {
    auto inside = branch.getCondition().getDefiningOp<ir::InsideOp>();
    if (inside && inside->getNextNode() == branch) return branch;
  }
  return {};
}

int64_t LanesOf(KernelState* state, ir::RangeTaskOp op, const std::vector<Dimension>& dimensions) {
  // Rows that are shorter than a vector would leave lanes idle; folded ones are hardly longer.
  const codegen::Target::Lanes target = state->target->lanes();
  if (!op.getLanes() || target.count == 0 || FoldedDimensions(dimensions) > 0) return 0;
  if (SplitOf(op)) return 0;  // LLVM vectorises these
  constexpr int64_t kLongRow = 256;
  const auto* extent = llvm::dyn_cast<llvm::ConstantInt>(dimensions.back().extent);
  if (extent != nullptr && extent->getSExtValue() < target.count) return 0;
  return LaneEmitter::LanesFor(op, target, extent != nullptr && extent->getSExtValue() >= kLongRow);
}

int64_t StepOf(ir::RangeTaskOp op, int64_t lanes) {
  constexpr int64_t kMostStep = 512, kLeastStep = 16, kNanoseconds = 2000;
  const int64_t least = std::max(kLeastStep, lanes);
  if (!op.getInits().empty() || (lanes == 0 && !MayVectorise(op.getBody()))) return 0;
  // About 2 us of work, the least chunk of the runtime. Powers of two are multiples of any vector's
  // length.
  const int64_t wanted = kNanoseconds / std::max<int64_t>(op.getCost(), 1);
  return static_cast<int64_t>(
      llvm::bit_floor(static_cast<uint64_t>(std::clamp(wanted, least, kMostStep))));
}

bool ComputesFloats(mlir::Region& region) {
  return region
      .walk([](mlir::Operation* op) {
        const bool floats = llvm::any_of(op->getResultTypes(), llvm::IsaPred<mlir::FloatType>);
        return floats && !llvm::isa<ir::LoadOp>(op) ? mlir::WalkResult::interrupt()
                                                    : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

bool ScattersNumbers(ir::RangeTaskOp op) {
  auto kernel = op->getParentOfType<ir::KernelOp>();
  int count = 0;
  const auto walked = op.getBody().walk([&](ir::AtomicOp atomic) {
    auto global = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!global) return mlir::WalkResult::interrupt();
    auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[global.getStorage()]);
    if (!dense || dense.getNumDigits() == 0) return mlir::WalkResult::interrupt();
    const int base = static_cast<int>(dense.getComponentBase(global.getComponent()));
    const bool adjoin = dense.getDigitStride(base, dense.getNumDigits() - 1) ==
                        Bytes(global.getType().getPointee());
    if (!adjoin ||
        !llvm::any_of(global.getIndices(), [](mlir::Value i) { return IsFromData(i); })) {
      return mlir::WalkResult::interrupt();
    }
    ++count;
    return mlir::WalkResult::advance();
  });
  return !walked.wasInterrupted() && count > 1;
}

ir::GlobalOp StreamOf(ir::RangeTaskOp op) {
  constexpr int kMostOfFloats = 3;
  if (!op.getInits().empty() || op.getNumDims() == 0) return {};
  ir::GlobalOp stream;
  int of_floats = 0;
  for (mlir::Operation& inner : op.getBody().front()) {
    if (auto store = llvm::dyn_cast<ir::StoreOp>(inner)) {
      if (stream) return {};
      stream = store.getAddress().getDefiningOp<ir::GlobalOp>();
      if (!stream) return {};
    } else if (llvm::isa<mlir::arith::AddFOp, mlir::arith::SubFOp, mlir::arith::MulFOp>(inner)) {
      if (++of_floats > kMostOfFloats) return {};
    } else if (!llvm::isa<ir::GlobalOp, ir::LoadOp, ir::ArgumentOp, ir::ContinueOp>(inner) &&
               (!llvm::isa<mlir::arith::ArithDialect>(inner.getDialect()) ||
                llvm::isa<mlir::arith::DivFOp, mlir::arith::RemFOp>(inner))) {
      return {};
    }
  }
  if (!stream || stream.getType().getPointee().isInteger(1)) return {};
  const auto reads = [&](ir::LoadOp load) { return load.getAddress() == stream; };
  if (llvm::any_of(op.getBody().front().getOps<ir::LoadOp>(), reads)) return {};
  bool copies = false;
  for (auto global : op.getBody().front().getOps<ir::GlobalOp>()) {
    if (global == stream) continue;
    if (global.getStorage() == stream.getStorage()) return {};
    copies |= !global.getIndices().empty() && global.getIndices().back() == op.getIndices().back();
  }
  return copies && IsCellAfterCell(stream, op) ? stream : ir::GlobalOp();
}

}  // namespace kiln::cpu
