// Computes the values that a loop adds to several cells once, in a loop of their own, and keeps
// them in cells that the loop clears.
//
//   parallel_for (%i) = 1 to n-1 {           parallel_for (%i) = 1 to n-1 {
//     %v = f(%i, h[%i])                        store f(%i, h[%i]), h[%i]
//     store 0, h[%i]                         }
//     atomic addf %v, g[%i - 1]       ->     parallel_for (%i) = 1 to n-1 {
//     atomic addf %v * c, g[%i]                %v = load h[%i]
//     atomic addf %v, g[%i + 1]                atomic addf %v, g[%i - 1]
//   }                                          atomic addf %v * c, g[%i]
//                                              atomic addf %v, g[%i + 1]
//                                              store 0, h[%i]
//                                            }
//
// That is the reverse of a stencil: h is the gradient of its result, which the reverse takes and
// clears. Where `gather` makes a sum of the second loop, it loads the values of the neighbours; of
// the first form, it would compute each of them again.
//
// Requires: structured level, before `gather`.
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/autodiff/addition.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using mlir::Value;

// In the units of passes/cost.cc: what it takes to run over the cells once more. Kept, the value of
// a squared sum of four cells takes two thirds of the processor time.
constexpr int kCostOfKeeping = 24;

// A value that the loop computes, and where it is kept.
struct Shared {
  Value value;
  int uses = 0;  // additions of it, or of constant multiples
  mutable ir::StoreOp clear;
};

class Sharing {
 public:
  Sharing(ir::KernelOp kernel, ir::ParallelForOp loop)
      : kernel_(kernel), loop_(loop), b_(kernel.getContext()) {}

  void Run() {
    if (loop_.isSparse() || !HasOnlyMemoryOps(loop_) || !FindAdditions()) return;
    for (const Addition& addition : additions_) AddUse(BaseOf(addition.op.getValue()));
    if (!Pays() || !FindCells()) return;
    Split();
  }

 private:
  // Finds the atomic additions; false if there are others than of the kind that is gathered, or the
  // loop reads or writes the cells otherwise.
  bool FindAdditions() {
    bool fits = true;
    loop_.walk([&](ir::AtomicOp op) {
      std::optional<Addition> found = ParseAddition(kernel_, loop_, op);
      fits &= found && op->getParentOp() == loop_ && IsBesideOwn(loop_, *found);
      if (fits) additions_.push_back(*std::move(found));
    });
    return fits && llvm::all_of(additions_, [&](const Addition& addition) {
             return !Touches(addition.op.getAddress(),
                             [](mlir::Operation* by) { return llvm::isa<ir::AtomicOp>(by); });
           });
  }

  // Whether an op of the loop may read or write cells that overlap those of `address`. Does not
  // count those that `is_fine`.
  bool Touches(Value address, llvm::function_ref<bool(mlir::Operation*)> is_fine) {
    const MemoryClass cells = ClassOf(address);
    const auto found = loop_.walk([&](mlir::Operation* by) {
      const Effects effects = EffectsOf(by);
      for (Value other : llvm::concat<const Value>(effects.reads, effects.writes)) {
        if (MayOverlap(ClassOf(other), cells) && !is_fine(by)) {
          return mlir::WalkResult::interrupt();
        }
      }
      return mlir::WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  // The value of which this is a constant multiple.
  static Value BaseOf(Value value) {
    for (;;) {
      auto* op = value.getDefiningOp();
      if (auto negated = llvm::dyn_cast_or_null<arith::NegFOp>(op)) {
        value = negated.getOperand();
      } else if (auto product = llvm::dyn_cast_or_null<arith::MulFOp>(op);
                 product && matchPattern(product.getRhs(), mlir::m_Constant())) {
        value = product.getLhs();
      } else {
        return value;
      }
    }
  }

  void AddUse(Value value) {
    auto* found = llvm::find_if(values_, [&](const Shared& one) { return one.value == value; });
    if (found == values_.end()) found = &values_.emplace_back(Shared{value});
    ++found->uses;
  }

  // What it costs to compute a value, in the units of passes/cost.cc.
  int CostOf(Value value, llvm::DenseSet<mlir::Operation*>* seen) {
    mlir::Operation* op = value.getDefiningOp();
    if (op == nullptr || IsOutside(loop_, value) || !seen->insert(op).second) return 0;
    int cost = llvm::isa<ir::LoadOp>(op)                                   ? 2
               : llvm::isa<mlir::math::MathDialect>(op->getDialect())      ? 20
               : llvm::isa<ir::GlobalOp, arith::AddIOp, arith::SubIOp>(op) ? 0
                                                                           : 1;
    for (Value operand : op->getOperands()) cost += CostOf(operand, seen);
    return cost;
  }

  // Whether each value is used so often that it costs more to compute it again than to keep it.
  bool Pays() {
    return !values_.empty() && llvm::all_of(values_, [&](const Shared& one) {
      llvm::DenseSet<mlir::Operation*> seen;
      return (one.uses - 1) * CostOf(one.value, &seen) > 2 * one.uses + kCostOfKeeping;
    });
  }

  // Finds a cell for each value; false if there are too few.
  bool FindCells() {
    llvm::SmallVector<ir::StoreOp> free;
    for (ir::StoreOp store : body().getOps<ir::StoreOp>()) {
      if (IsFree(store)) free.push_back(store);
    }
    for (Shared& one : values_) {
      const auto* found = llvm::find_if(free, [&](ir::StoreOp store) {
        return const_cast<ir::StoreOp&>(store).getValue().getType() == one.value.getType();
      });
      if (found == free.end()) return false;
      one.clear = *found;
      free.erase(found);
    }
    return true;
  }

  // Whether the store clears the iteration's own cell, and nothing else in the loop uses that cell,
  // except for loads before it.
  bool IsFree(ir::StoreOp store) {
    auto cell = store.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!cell || GlobalInTree(store.getAddress()) || !IsOwnCell(kernel_, loop_, cell) ||
        !matchPattern(store.getValue(), mlir::m_PosZeroFloat())) {
      return false;
    }
    return !Touches(store.getAddress(), [&](mlir::Operation* by) {
      if (by == store) return true;
      auto load = llvm::dyn_cast<ir::LoadOp>(by);
      auto read = load ? load.getAddress().getDefiningOp<ir::GlobalOp>() : ir::GlobalOp();
      return read && read.getStorage() == cell.getStorage() &&
             read.getComponent() == cell.getComponent() && read.getIndices() == cell.getIndices() &&
             body().findAncestorOpInBlock(*by)->isBeforeInBlock(store);
    });
  }

  mlir::Block& body() { return loop_.getBodyRegion().front(); }

  void Split() {
    const mlir::Location loc = loop_.getLoc();
    b_.setInsertionPointAfter(loop_);
    auto second =
        b_.create<ir::ParallelForOp>(loc, loop_.getLowers(), loop_.getUppers(), mlir::IntegerAttr(),
                                     loop_.getMaxThreadsAttr(), loop_.getBlockDimAttr());
    mlir::Block& block = second.getBodyRegion().emplaceBlock();
    mlir::IRMapping at;
    for (Value index : loop_.getBody().getArguments()) {
      at.map(index, block.addArgument(index.getType(), loc));
    }
    b_.setInsertionPointToStart(&block);
    for (const Shared& one : values_) {
      const Value cell = ComputeAgain(b_, loop_, one.clear.getAddress(), at);
      at.map(one.value, b_.create<ir::LoadOp>(loc, one.value.getType(), cell).getResult());
    }
    for (const Addition& addition : additions_) {
      const Value value = ComputeAgain(b_, loop_, addition.op.getValue(), at);
      b_.create<ir::AtomicOp>(addition.op.getLoc(), value.getType(), ir::AtomicKind::addf, value,
                              ComputeAgain(b_, loop_, addition.op.getAddress(), at));
      addition.op->erase();
    }
    for (const Shared& one : values_) {
      b_.create<ir::StoreOp>(loc, ComputeAgain(b_, loop_, one.clear.getValue(), at),
                             at.lookup(one.clear.getAddress()));
      // The value may be computed after its cell is cleared.
      one.clear->moveBefore(body().getTerminator());
      one.clear.getValueMutable().assign(one.value);
    }
    b_.create<ir::ContinueOp>(loc);
  }

  ir::KernelOp kernel_;
  ir::ParallelForOp loop_;
  mlir::OpBuilder b_;
  std::vector<Addition> additions_;
  llvm::SmallVector<Shared, 4> values_;
};

struct ShareValuesPass : mlir::PassWrapper<ShareValuesPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShareValuesPass)
  llvm::StringRef getArgument() const override { return "share-values"; }
  void runOnOperation() override {
    llvm::SmallVector<ir::ParallelForOp> loops;
    getOperation().walk([&](ir::ParallelForOp loop) { loops.push_back(loop); });
    for (ir::ParallelForOp loop : loops) Sharing(getOperation(), loop).Run();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateShareValuesPass() { return std::make_unique<ShareValuesPass>(); }

}  // namespace kiln
