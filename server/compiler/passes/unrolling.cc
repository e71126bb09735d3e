#include "server/compiler/passes/unrolling.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/math_calls.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;
using mlir::Value;

// LLVM unrolls a loop of so many operations in all. It counts a call as ten.
constexpr double kUnrolled = 150, kOperationsOfCall = 10;
// Of a loop that stays one: its count, the tests at its end and before it.
constexpr double kOperationsOfLoop = 4;
// Ops between an index and what it is made of.
constexpr int kIndexDepth = 4;

// Whether an op only makes constants, addresses or their indices: most of these cost nothing once
// the indices of loops are constant.
bool IsOfAddresses(mlir::Operation* op, int depth = kIndexDepth) {
  if (llvm::isa<arith::ConstantOp, ir::GlobalOp, ir::ElementOp>(op)) return true;
  return depth > 0 && llvm::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
         llvm::all_of(op->getUsers(), [&](auto* user) { return IsOfAddresses(user, depth - 1); });
}

// Loops as LLVM's unroller sees them: innermost ones first. It unrolls a loop of constant bounds
// that is small enough. If bounds of loops inside follow from its index, they are constant then,
// and LLVM looks at each of those.
class Unroller {
 public:
  // Whether no loop is left of this one and those inside.
  bool Unrolls(ir::ForOp loop) {
    const std::optional<ConstantBounds> bounds = BoundsOf(loop);
    if (!bounds) return false;
    const double trips = static_cast<double>(bounds->upper) - static_cast<double>(bounds->lower);
    if (trips <= 0) return true;
    if (trips * SizeOf(loop.getBody()) > kUnrolled) return false;
    for (int64_t index = bounds->lower; index < bounds->upper; ++index) {
      indices_[loop.getIndex()] = index;
      const bool unrolls = UnrollsInside(loop);
      indices_.erase(loop.getIndex());
      if (!unrolls) return false;
    }
    return true;
  }

 private:
  bool UnrollsInside(ir::ForOp loop) {
    return !loop.getBody()
                .walk<mlir::WalkOrder::PreOrder>([&](ir::ForOp inner) {
                  return Unrolls(inner) ? mlir::WalkResult::skip() : mlir::WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  std::optional<ConstantBounds> BoundsOf(ir::ForOp loop) {
    const std::optional<int64_t> lower = IntegerOf(loop.getLower());
    const std::optional<int64_t> upper = IntegerOf(loop.getUpper());
    if (!lower || !upper) return {};
    return ConstantBounds{*lower, *upper};
  }

  // What arithmetic makes of constants and of the indices of loops that are unrolled.
  std::optional<int64_t> IntegerOf(Value value, int depth = kIndexDepth) {
    if (const auto found = indices_.find(value); found != indices_.end()) return found->second;
    if (const std::optional<int64_t> constant = ConstantOf(value)) return constant;
    mlir::Operation* op = value.getDefiningOp();
    if (depth == 0 ||
        !llvm::isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op)) {
      return {};
    }
    const std::optional<int64_t> a = IntegerOf(op->getOperand(0), depth - 1);
    const std::optional<int64_t> b = IntegerOf(op->getOperand(1), depth - 1);
    if (!a || !b) return {};
    if (llvm::isa<arith::AddIOp>(op)) return *a + *b;
    if (llvm::isa<arith::SubIOp>(op)) return *a - *b;
    return llvm::isa<arith::MaxSIOp>(op) ? std::max(*a, *b) : std::min(*a, *b);
  }

  // Of a loop's body, with the loops inside whose bounds are known unrolled.
  double SizeOf(mlir::Region& body) {
    double size = 0;
    for (mlir::Operation& op : body.front()) {
      double times = 1;
      if (auto loop = llvm::dyn_cast<ir::ForOp>(op)) {
        const std::optional<ConstantBounds> bounds = BoundsOf(loop);
        if (bounds) times = static_cast<double>(bounds->upper) - static_cast<double>(bounds->lower);
        if (!bounds) size += kOperationsOfLoop;
      }
      if (IsLibraryCall(op)) {
        size += kOperationsOfCall;
      } else if (!IsOfAddresses(&op)) {
        ++size;
      }
      for (mlir::Region& region : op.getRegions()) {
        if (!region.empty()) size += std::max(0.0, times) * SizeOf(region);
      }
    }
    return size;
  }

  llvm::DenseMap<Value, int64_t> indices_;
};

}  // namespace

bool IsUnrolled(ir::ForOp loop) { return Unroller().Unrolls(loop); }

}  // namespace kiln
