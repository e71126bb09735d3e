// Unrolls short inner loops around atomic additions, for `gather` and `reduce`.
//
//   for %k = 0 to 3 {                          atomic addf v(0), g[%i]
//     atomic addf v(%k), g[%i + %k]     ->     atomic addf v(1), g[%i + 1]
//   }                                          atomic addf v(2), g[%i + 2]
//
// Then the cells are at fixed distances from the parallel loop's own. Cells to which all of its
// iterations add, such as the weights of a convolution, are at constant indices, and `reduce` makes
// partial sums of them.
//
// Requires: structured level, before `gather`.
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "server/compiler/autodiff/addition.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/autodiff/linear.h"
#include "server/compiler/dialect/long_loops.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using mlir::Value;

constexpr double kMostIterations = 32;
constexpr int kMostOps = 2000;  // of all iterations

// Whether the loop's index is added to another one in an index of the cell, or the cell is one of a
// few that all iterations of the parallel loop share.
bool UnrollingHelps(ir::KernelOp kernel, ir::ParallelForOp loop, ir::ForOp inner,
                    ir::AtomicOp atomic) {
  auto address = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
  if (!address || !atomic->use_empty()) return false;
  bool is_indexed = false, is_shared = true;
  for (Value index : address.getIndices()) {
    Linear sum;
    sum.Add(index, 1);
    const bool has_index = sum.terms.lookup(inner.getIndex()) != 0;
    if (has_index && sum.terms.size() > 1) return true;
    is_indexed |= has_index;
    for (Value dimension : loop.getBody().getArguments()) {
      is_shared &= sum.terms.lookup(dimension) == 0;
    }
  }
  if (!is_indexed || !is_shared) return false;
  const std::optional<Addition> addition = ParseAddition(kernel, loop, atomic);
  return addition && NumCells(*addition).value_or(kFewestCells) < kFewestCells;
}

void Unroll(ir::ForOp inner, int64_t trips) {
  const mlir::Location loc = inner.getLoc();
  mlir::OpBuilder b(inner);
  mlir::Block& body = inner.getBodyRegion().front();
  llvm::SmallVector<Value> carried(inner.getInits());
  for (int64_t i = 0; i < trips; ++i) {
    const Value number =
        b.create<arith::ConstantOp>(loc, b.getIntegerAttr(inner.getIndex().getType(), i));
    mlir::IRMapping at;
    at.map(inner.getIndex(), b.createOrFold<arith::AddIOp>(loc, inner.getLower(), number));
    at.map(inner.getCarried(), carried);
    for (mlir::Operation& op : body.without_terminator()) b.clone(op, at);
    for (auto [value, next] : llvm::zip(carried, body.getTerminator()->getOperands())) {
      value = at.lookupOrDefault(next);
    }
  }
  inner->replaceAllUsesWith(carried);
  inner->erase();
}

struct UnrollAdditionsPass
    : mlir::PassWrapper<UnrollAdditionsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnrollAdditionsPass)
  llvm::StringRef getArgument() const override { return "unroll-additions"; }
  void runOnOperation() override {
    getOperation().walk([&](ir::ParallelForOp loop) {
      if (loop.isSparse() || !HasOnlyMemoryOps(loop)) return;
      // Innermost first.
      loop.walk([&](ir::ForOp inner) {
        const std::optional<double> trips = Trips(*inner);
        bool helps = false;
        int ops = 0;
        inner.walk([&](mlir::Operation* op) {
          auto atomic = llvm::dyn_cast<ir::AtomicOp>(op);
          helps |= atomic && UnrollingHelps(getOperation(), loop, inner, atomic);
          ++ops;
        });
        if (helps && trips && *trips <= kMostIterations && *trips * ops <= kMostOps) {
          Unroll(inner, static_cast<int64_t>(*trips));
        }
      });
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateUnrollAdditionsPass() {
  return std::make_unique<UnrollAdditionsPass>();
}

}  // namespace kiln
