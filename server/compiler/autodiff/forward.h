// Forward mode: makes a kernel compute the duals of what it writes beside the values.
//
// The dual of a value is its derivative along the direction that the duals of what the kernel reads
// describe. Each value gets its dual behind it; loops carry duals, ifs return them, and memory has
// companions: a store of a value stores its dual, too.
//
//   %v = kiln.load %x              %v = kiln.load %x          ; %v' = kiln.load %x'
//   %w = arith.mulf %v, %v    ->   %w = arith.mulf %v, %v     ; %w' = %v' * %v + %v * %v'
//   kiln.store %w, %y              kiln.store %w, %y          ; kiln.store %w', %y'
//
// An atomic minimum or maximum has its winner when the parallel loop is over. So a copy of the loop
// follows, whose iterations only compute the values again: the winner stores its dual.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_FORWARD_H_
#define KILN_SERVER_COMPILER_AUTODIFF_FORWARD_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// `companions`: by storage, that of its duals; -1: it has none. Requires: as Reverse.
mlir::LogicalResult Forward(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_FORWARD_H_
