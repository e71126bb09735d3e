#include "server/compiler/dialect/long_loops.h"

#include <algorithm>

#include "llvm/ADT/SmallPtrSet.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {

std::optional<double> Trips(mlir::Operation& op) {
  if (llvm::isa<ir::LoopOp>(op)) return {};
  auto loop = llvm::dyn_cast<ir::ForOp>(op);
  if (!loop) return 1;
  const auto bounds = ConstantBoundsOf(loop.getLower(), loop.getUpper());
  if (!bounds) return {};
  return std::max<double>(0, static_cast<double>(bounds->upper) - bounds->lower);
}

namespace {

// Each run of a region runs this many iterations of a loop in it, unless one breaks; 0: unknown.
double KnownIterations(mlir::Region& region) {
  double most = 0;
  for (auto loop : region.getOps<ir::ForOp>()) {
    const double inside = std::max(1.0, KnownIterations(loop.getRegion()));
    most = std::max(most, Trips(*loop).value_or(0) * inside);
  }
  return most;
}

// What decides whether a loop goes on.
struct Conditions {
  bool carried = false;      // values that an iteration hands to the next
  bool uncountable = false;  // what memory holds, what a function returns, random numbers
};

// Adds what a value in the loop is made of. Values from outside the loop do not change.
void Add(mlir::Value value, ir::LoopOp loop, llvm::SmallPtrSetImpl<mlir::Value>* seen,
         Conditions* conditions) {
  llvm::SmallVector<mlir::Value> pending = {value};
  while (!pending.empty()) {
    mlir::Value next = pending.pop_back_val();
    if (!loop.getRegion().isAncestor(next.getParentRegion()) || !seen->insert(next).second) {
      continue;
    }
    mlir::Operation* made_by = next.getDefiningOp();
    if (made_by == nullptr) {
      conditions->carried = true;
      continue;
    }
    made_by->walk([&](mlir::Operation* op) {
      const Effects effects = EffectsOf(op);
      conditions->uncountable |= !effects.reads.empty() || effects.Has(kCalls | kQueries | kDraws);
      pending.append(op->operand_begin(), op->operand_end());
    });
  }
}

// The conditions under which the loop's own breaks are reached. Breaks in inner loops end those.
Conditions ConditionsOf(ir::LoopOp loop) {
  Conditions conditions;
  llvm::SmallPtrSet<mlir::Value, 16> seen;
  loop.getRegion().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) return mlir::WalkResult::skip();
    if (!llvm::isa<ir::BreakOp>(op)) return mlir::WalkResult::advance();
    for (mlir::Operation* up = op->getParentOp(); up != loop; up = up->getParentOp()) {
      if (auto branch = llvm::dyn_cast<ir::IfOp>(up)) {
        Add(branch.getCondition(), loop, &seen, &conditions);
      }
    }
    return mlir::WalkResult::advance();
  });
  return conditions;
}

}  // namespace

bool Looks(mlir::Operation& op) {
  if (!llvm::isa<ir::ForOp, ir::LoopOp>(op)) return false;
  constexpr double kShort = 64, kShortWithLoops = 65'536;
  const double inside = KnownIterations(op.getRegion(0));
  const std::optional<double> trips = Trips(op);
  if (inside > kShort && (!trips || *trips * inside > kShortWithLoops)) return true;
  auto loop = llvm::dyn_cast<ir::LoopOp>(op);
  if (!loop) return false;
  const Conditions conditions = ConditionsOf(loop);
  return conditions.uncountable || !conditions.carried;
}

}  // namespace kiln
