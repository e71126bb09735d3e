// Reads that a gradient kernel cannot repeat: those of memory that the kernel changes afterwards.
//
// A gradient kernel runs after its kernel and computes values again from memory. A load gives the
// value that the kernel saw only if nothing wrote to the cell since. What kernels launched later
// write is not known here. That no iteration of a parallel loop writes what another one reads is
// the program's duty, as it is without gradients: such a loop has no defined result.
//
// The marks are discardable attributes, which copies of an op keep and which passes leave alone.
// After dead code has gone, the pass check-reads reports the marked ops that are left.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_OVERWRITTEN_H_
#define KILN_SERVER_COMPILER_AUTODIFF_OVERWRITTEN_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// Marks loads and queries of SNodes that the kernel may make untrue later, and loads of gradients.
void MarkOverwritten(ir::KernelOp kernel);

// Marks the loads in `again`, a copy of a parallel loop that runs after it, that see what the loop
// wrote.
void MarkWrittenBy(mlir::Operation* loop, mlir::Operation* again);

// Fails if the kernel may activate cells of an SNode once it has looped over them, so that the
// gradient's loop would visit more cells. Fails also if it deactivates cells.
mlir::LogicalResult CheckActivation(ir::KernelOp kernel);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_OVERWRITTEN_H_
