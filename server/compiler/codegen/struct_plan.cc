#include "server/compiler/codegen/struct_plan.h"

#include <array>

#include "server/compiler/codegen/abi.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {
namespace {

// The most cells of an iteration. Threads share blocks of more; a level of more is split into rows
// of kPartOfRow cells.
constexpr int64_t kMostCells = 4096, kPartOfRow = 1024;
// The most cells of a container with a mask that gets a loop for "all cells are active". The
// runtime does not cut containers of so many cells into several slices.
constexpr int64_t kWholeContainer = 1024;
// A guess at how many cells of a slice are active, for the cost of an iteration.
constexpr int64_t kCellsOfSlice = 64;

// A slice is part of one container. If that is small and has a mask, a loop over all its cells
// serves where all are active.
void PlanSlices(StructPlan* plan) {
  plan->cells = kCellsOfSlice;
  ir::SNodeAttr level = plan->tree.getNode(plan->node);
  if (!level.getFacts().has_mask || level.getNumCells() > kWholeContainer ||
      level.getParent() == 0) {
    return;
  }
  for (int a = 0; a < level.getNumAxes(); ++a) {
    plan->dimensions.push_back({level.getAxis(a), level.getExtent(a), 1});
  }
}

// The dense levels below a cell are loops. Outer ones are shared among threads until an iteration
// has few enough cells.
void PlanCells(StructPlan* plan_of_cells) {
  StructPlan& plan = *plan_of_cells;
  bool below = plan.node == 0;  // the levels below plan.node
  for (int64_t n : plan.tree.getPath(plan.field.getNode())) {
    ir::SNodeAttr level = plan.tree.getNode(n);
    for (int a = 0; below && a < level.getNumAxes(); ++a) {
      const int64_t axis = level.getAxis(a), extent = level.getExtent(a);
      const int64_t factor =
          plan.tree.getAxisExtent(plan.field.getNode(), axis) / plan.tree.getAxisExtent(n, axis);
      plan.cells *= extent;
      // Two dimensions of one axis: parts can be shared, and within a part the loop is still one
      // row.
      if (extent > kMostCells && extent % kPartOfRow == 0) {
        plan.dimensions.push_back({axis, extent / kPartOfRow, factor * kPartOfRow});
        plan.dimensions.push_back({axis, kPartOfRow, factor});
      } else {
        plan.dimensions.push_back({axis, extent, factor});
      }
    }
    below |= n == plan.node;
  }
  // The innermost dimension always stays a loop: it is what LLVM vectorises.
  while (plan.cells > kMostCells && plan.shared + 1 < plan.dimensions.size()) {
    const int64_t extent = plan.dimensions[plan.shared++].extent;
    plan.iterations *= extent;
    plan.cells /= extent;
  }
}

}  // namespace

Shifted ShiftOf(mlir::Value value) {
  Shifted result;
  // A few steps: programs write i + 1 or i + 2 - 1, and long sums would cost time for nothing.
  for (int depth = 0; depth < 8; ++depth) {
    result.index = llvm::dyn_cast<mlir::BlockArgument>(value);
    if (result.index) return result;
    mlir::Operation* op = value.getDefiningOp();
    const bool add = llvm::isa<mlir::arith::AddIOp>(op);
    if (!add && !llvm::isa<mlir::arith::SubIOp>(op)) return {};
    const auto constant = ConstantOf(op->getOperand(1));
    if (!constant) return {};
    result.by += add ? *constant : -*constant;
    value = op->getOperand(0);
  }
  return {};
}

StructPlan PlanOf(ir::RangeTaskOp op, ir::KernelOp kernel) {
  StructPlan plan;
  plan.field = kernel.getTreeField(*op.getOver());
  plan.tree = kernel.getTree(plan.field.getTree());
  plan.node = plan.tree.getLastSparse(plan.field.getNode());
  plan.slices = plan.node == plan.field.getNode();
  if (plan.slices) {
    PlanSlices(&plan);
  } else {
    PlanCells(&plan);
  }
  return plan;
}

// The cell of the plan's node is decided by the indices of its axes alone: each must be the loop's
// own, without a distance, and none may be missing. An index for an axis that the node does not
// divide selects a cell below it, and may be any.
bool IsOwnCell(const StructPlan& plan, ir::RangeTaskOp op, const ComponentAccess& access) {
  const int64_t component = access.component;
  if (access.field.getComponentTree(component) != plan.field.getTree()) return false;
  const int64_t node = access.field.getComponentNode(component);
  if (!llvm::is_contained(plan.tree.getPath(node), plan.node)) return false;
  // The axes whose index decides which cell of the node it is.
  std::array<bool, abi::kMaxAxes> seen = {};
  for (int i = 0; i < access.field.getNumAxes(); ++i) {
    const int64_t axis = access.field.getComponentAxis(component, i);
    if (axis < 0 || plan.tree.getAxisExtent(plan.node, axis) == 1) continue;
    // Equal extents: with another extent along the axis, the same index may be in another block.
    const Shifted at = ShiftOf(access.indices[i]);
    if (!at.index || at.index.getOwner() != &op.getBody().front() ||
        at.index.getArgNumber() >= static_cast<unsigned>(op.getNumDims()) ||
        plan.field.getAxis(at.index.getArgNumber()) != axis ||
        at.by != access.field.getAxisOffset(i) ||
        plan.tree.getAxisExtent(node, axis) !=
            plan.tree.getAxisExtent(plan.field.getNode(), axis)) {
      return false;
    }
    seen[axis] = true;
  }
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    if (plan.tree.getAxisExtent(plan.node, axis) != 1 && !seen[axis]) return false;
  }
  return true;
}

int64_t CountOps(mlir::Region& region) {
  int64_t count = 0;
  region.walk([&](mlir::Operation* op) {
    if (!op->hasTrait<mlir::OpTrait::ConstantLike>()) ++count;
  });
  return count;
}

void ForEachReadAlong(ir::RangeTaskOp op, const TreeWalker& trees, const StructPlan& plan,
                      int64_t axis, llvm::function_ref<void(ir::GlobalOp, int64_t)> visit) {
  op.getBody().walk([&](ir::LoadOp load) {
    auto global = load.getAddress().getDefiningOp<ir::GlobalOp>();
    ir::TreeFieldAttr field = global ? trees.FieldOf(global.getStorage()) : ir::TreeFieldAttr();
    if (!field) return;
    const int component = static_cast<int>(global.getComponent());
    if (!trees.IsSteady(field.getComponentTree(component), field.getComponentNode(component))) {
      return;
    }
    for (int i = 0; i < field.getNumAxes(); ++i) {
      if (field.getComponentAxis(component, i) != axis) continue;
      const Shifted at = ShiftOf(global.getIndices()[i]);
      if (!at.index || at.index.getOwner() != &op.getBody().front() ||
          at.index.getArgNumber() >= static_cast<unsigned>(op.getNumDims()) ||
          plan.field.getAxis(at.index.getArgNumber()) != axis) {
        continue;
      }
      visit(global, at.by - field.getAxisOffset(i));
    }
  });
}

std::pair<int64_t, int64_t> Reach(ir::RangeTaskOp op, const TreeWalker& trees,
                                  const StructPlan& plan, int64_t axis) {
  int64_t before = 0, beyond = 0;
  ForEachReadAlong(op, trees, plan, axis, [&](ir::GlobalOp, int64_t by) {
    before = std::max(before, -by);
    beyond = std::max(beyond, by);
  });
  return {before, beyond};
}

bool IsWritten(mlir::Region& region, const TreeWalker& trees, ir::GlobalOp address) {
  ir::TreeFieldAttr field = trees.FieldOf(address.getStorage());
  const auto may_be_in = [&](uint64_t storage) {
    ir::TreeFieldAttr other = trees.FieldOf(storage);
    return storage == address.getStorage() ||
           (other && other.getAlias() != 0 && other.getAlias() == field.getAlias());
  };
  const auto may_be_same = [&](mlir::Value written) {
    const mlir::Value array = ArrayOf(written);
    if (auto global = array.getDefiningOp<ir::GlobalOp>()) return may_be_in(global.getStorage());
    auto component = array.getDefiningOp<ir::ComponentOp>();
    return component && may_be_in(component.getStorage());
  };
  return region
      .walk([&](mlir::Operation* op) {
        const Effects effects = EffectsOf(op);
        const bool writes = effects.Has(kCalls) || llvm::any_of(effects.writes, may_be_same);
        return writes ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace kiln
