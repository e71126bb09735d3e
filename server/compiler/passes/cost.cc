#include "server/compiler/passes/cost.h"

#include <algorithm>
#include <optional>

#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/long_loops.h"

namespace kiln {

namespace {

// In quarters of a nanosecond, about a cycle: data in the first-level cache, atomics without
// contention.
constexpr double kSimple = 1, kMemory = 2, kMath = 20, kAtomic = 20, kCall = 50;
constexpr double kMost = 4e9;  // fits the result's 32 bits
// Iterations of a loop whose trip count is not constant.
constexpr double kUnknownTrips = 16;
// Longer loops stay loops, and LLVM vectorises only innermost ones.
constexpr double kUnrolled = 64;

double OpCost(mlir::Operation& op);

double Cycles(mlir::Region& region) {
  double sum = 0;
  for (mlir::Block& block : region) {
    for (mlir::Operation& op : block) sum += OpCost(op);
  }
  return std::min(sum, kMost);
}

double OpCost(mlir::Operation& op) {
  if (op.getNumRegions() > 0) {
    double sum = 0;
    for (mlir::Region& region : op.getRegions()) sum += Cycles(region);
    if (llvm::isa<ir::UpdateOp>(op)) sum += kAtomic;
    return sum * Trips(op).value_or(kUnknownTrips);
  }
  if (llvm::isa<mlir::arith::ConstantOp>(op)) return 0;
  if (llvm::isa<mlir::math::MathDialect>(op.getDialect())) return kMath;
  if (llvm::isa<ir::LoadOp, ir::StoreOp>(op)) return kMemory;
  if (llvm::isa<ir::CallOp>(op)) return kCall;
  if (llvm::isa<ir::AtomicOp, ir::RandomOp, ir::PrintOp>(op)) return kAtomic;
  return kSimple;
}

// Whether the region has no calls and `wanted` accepts the trip count of each of its loops.
bool LoopsAre(mlir::Region& region, llvm::function_ref<bool(std::optional<double>)> wanted) {
  return !region
              .walk([&](mlir::Operation* op) {
                const bool fits = !llvm::isa<ir::CallOp>(op) && wanted(Trips(*op));
                return fits ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

}  // namespace

uint32_t RegionCost(mlir::Region& region) {
  return static_cast<uint32_t>(std::max(1.0, Cycles(region) / 4));
}

bool IsCostKnown(mlir::Region& region) {
  return LoopsAre(region, [](std::optional<double> trips) { return trips.has_value(); });
}

bool MayVectorise(mlir::Region& region) {
  return LoopsAre(region, [](std::optional<double> trips) { return trips && *trips <= kUnrolled; });
}

}  // namespace kiln
