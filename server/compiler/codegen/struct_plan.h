// What a struct task runs over, and which cells its body reads and writes besides the one that the
// loop is at.
#ifndef KILN_SERVER_COMPILER_CODEGEN_STRUCT_PLAN_H_
#define KILN_SERVER_COMPILER_CODEGEN_STRUCT_PLAN_H_

#include <utility>
#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "server/compiler/codegen/tree_effects.h"
#include "server/compiler/codegen/tree_walk.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// The sum of a loop's index and a constant.
struct Shifted {
  mlir::BlockArgument index;
  int64_t by = 0;
};
// The sum that a value is; no index: it is something else.
Shifted ShiftOf(mlir::Value value);

struct StructPlan {
  // One loop over cells of a block: the index along `axis` advances by `factor`.
  struct Dimension {
    int64_t axis, extent, factor;
  };

  ir::TreeFieldAttr field;
  ir::TreeAttr tree;
  int64_t node;  // whose list the task runs over: the last sparse one on the field's path
  bool slices;   // the list is of slices: the field is in the cells of `node` itself
  // The loops over a block, outermost first. Lists of cells: over the dense levels below `node`.
  // Lists of slices: over a container all of whose cells are active; none if the code has no such
  // loop.
  std::vector<Dimension> dimensions;
  // The runtime hands out iterations. An element has as many as the first `shared` dimensions have
  // cells, so that threads share large blocks.
  size_t shared = 0;
  int64_t iterations = 1;  // of an element
  int64_t cells = 1;       // of an iteration
};

StructPlan PlanOf(ir::RangeTaskOp op, ir::KernelOp kernel);

// Whether an access is to the cell of the plan's node that the loop is at. That cell is active.
bool IsOwnCell(const StructPlan& plan, ir::RangeTaskOp op, const ComponentAccess& access);

// Ops of the region that may become instructions.
int64_t CountOps(mlir::Region& region);

// Calls `visit` with each read, at a constant distance from the loop's index along an axis,
// of cells that the prologue looks up.
void ForEachReadAlong(ir::RangeTaskOp op, const TreeWalker& trees, const StructPlan& plan,
                      int64_t axis, llvm::function_ref<void(ir::GlobalOp, int64_t)> visit);
// How many cells before and beyond the loop's index the body reads along an axis.
std::pair<int64_t, int64_t> Reach(ir::RangeTaskOp op, const TreeWalker& trees,
                                  const StructPlan& plan, int64_t axis);
// Whether code in the region may write to the memory that the address leads to.
bool IsWritten(mlir::Region& region, const TreeWalker& trees, ir::GlobalOp address);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_STRUCT_PLAN_H_
