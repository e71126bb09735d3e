// Reverse mode: turns a kernel into the one that adds to the gradients of what it reads.
//
// The code of each block becomes its code, without what others see of it, followed by the reverse
// of its ops, last op first:
//
//   %v = kiln.load %x                   %v = kiln.load %x
//   %w = arith.mulf %v, %v              ; adjoints of %v and %w: locals, zero
//   kiln.store %w, %y              ->   %g = kiln.load %y' ; kiln.store 0, %y' ; adj(w) += %g
//                                       adj(v) += 2 * adj(w) * %v
//                                       kiln.atomic addf adj(v), %x'
//
// An adjoint is a local of the block that defines the value. It is zero where the reverse of that
// block begins, so it has the contributions of one run of the block. A loop's reverse runs the
// iterations that were entered, last one first. Each runs the iteration again from the values that
// it started with, which the loop's first run has put on a tape, and then backwards. What follows
// an if that may leave the iteration runs only if that did not. Parallel loops keep their
// iterations; they add to adjoints of values from outside atomically.
//
// Requires: structured level, without locals that promote-locals would remove.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_REVERSE_H_
#define KILN_SERVER_COMPILER_AUTODIFF_REVERSE_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// `companions`: by storage, that of its gradients; -1: it has none. Failure has been reported at
// the op that cannot be differentiated.
mlir::LogicalResult Reverse(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_REVERSE_H_
