// Atomic additions to cells whose indices are loop indices plus constants: what the reverse of a
// stencil or of a product consists of.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_ADDITION_H_
#define KILN_SERVER_COMPILER_AUTODIFF_ADDITION_H_

#include <optional>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// A loop index with its bounds, which are from outside of the parallel loop.
struct LoopIndex {
  mlir::Value value;
  mlir::Value lower, upper;
};

// Of an addition: `sign` times a loop index plus `offset`, or a value from outside of the loop.
struct Axis {
  int index = -1;  // of the addition's indices; -1: none
  int sign = 1;
  int64_t offset = 0;
  mlir::Value fixed;  // if there is no index
};

struct Addition {
  mutable ir::AtomicOp op;  // accessors of ops are not const
  mutable ir::GlobalOp address;
  llvm::SmallVector<LoopIndex, 4> indices;  // of all loops around it, the parallel one's first
  llvm::SmallVector<Axis, 4> axes;

  bool HasIndex(int index) const {
    return llvm::any_of(axes, [&](const Axis& axis) { return axis.index == index; });
  }
};

// Each index of the addition's cell must be a constant, a value from outside of `loop`, or plus or
// minus one loop index plus a constant. None if it is not, or for other atomics. The loops are
// `loop` and counted ones within it.
std::optional<Addition> ParseAddition(ir::KernelOp kernel, ir::ParallelForOp loop, ir::AtomicOp op);

// Whether the addition is to a cell at a fixed distance from one of the parallel loop's own.
bool IsBesideOwn(ir::ParallelForOp loop, const Addition& addition);

// Whether each of the loop's indices is itself an index of the cell, so that no other iteration has
// that cell.
bool IsOwnCell(ir::KernelOp kernel, ir::ParallelForOp loop, ir::GlobalOp cell);

// How many cells the addition goes to, if that is known.
std::optional<double> NumCells(const Addition& addition);
// A loop over fewer cells would not occupy the threads.
constexpr double kFewestCells = 33;

// Whether the value is from outside of the loop.
bool IsOutside(ir::ParallelForOp loop, mlir::Value value);

// A value of the loop's body, computed once more where the builder is, outside of the body. `at`
// has the values of the body's arguments there, and takes those that were computed.
mlir::Value ComputeAgain(mlir::OpBuilder& b, ir::ParallelForOp loop, mlir::Value value,
                         mlir::IRMapping& at);

// Whether each op runs in each iteration of the loops around it, and does nothing but to read and
// write memory that it names.
bool HasOnlyMemoryOps(ir::ParallelForOp loop);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_ADDITION_H_
