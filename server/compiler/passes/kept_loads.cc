#include "server/compiler/passes/kept_loads.h"

#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {
namespace {

bool IsLoop(mlir::Operation* op) { return llvm::isa<ir::ForOp, ir::LoopOp>(op); }

// All memory that a loop may write.
struct Written {
  bool anywhere = false;
  llvm::SmallVector<MemoryClass, 4> cells;

  explicit Written(mlir::Operation* loop) {
    loop->walk([&](mlir::Operation* op) {
      const Effects effects = EffectsOf(op);
      anywhere |= effects.Has(kTouchesMemory | kCalls);
      for (mlir::Value address : effects.writes) {
        const MemoryClass found = ClassOf(address);
        if (!llvm::is_contained(cells, found)) cells.push_back(found);
      }
    });
  }

  bool May(const MemoryClass& cell) const {
    return anywhere || llvm::any_of(cells, [&](const MemoryClass& written) {
             return MayOverlap(written, cell);
           });
  }
};

}  // namespace

KeptLoads FindKeptLoads(ir::RangeTaskOp task, const LaneShapes& shapes) {
  // Of large loops not all: each value takes a register, or room on the stack.
  constexpr int kMost = 16;
  KeptLoads kept;
  auto kernel = task->getParentOfType<ir::KernelOp>();
  llvm::DenseMap<mlir::Operation*, Written> written;
  task.getBody().walk([&](ir::LoadOp load) {
    auto cell = load.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!cell || kept.size() == kMost) return;
    const std::optional<int64_t> stride = ByteStride(cell, shapes, kernel);
    const int64_t bytes = (load.getType().getIntOrFloatBitWidth() + 7) / 8;
    if (stride == 0 || stride == bytes) return;
    const MemoryClass memory = ClassOf(cell);
    int loops = 0;
    for (mlir::Operation* up = load->getParentOp(); up != task; up = up->getParentOp()) {
      if (!IsLoop(up)) continue;
      const bool computes = llvm::any_of(cell.getIndices(), [&](mlir::Value index) {
        return up->isAncestor(index.getParentBlock()->getParentOp());
      });
      if (computes || written.try_emplace(up, up).first->second.May(memory)) break;
      ++loops;
    }
    if (loops > 0) kept[load] = loops;
  });
  return kept;
}

}  // namespace kiln
