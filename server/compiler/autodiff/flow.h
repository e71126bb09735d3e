// How values flow through structured control and through memory of locals. Derivatives travel
// along: forwards to find what depends on a value, backwards to find what it depends on.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_FLOW_H_
#define KILN_SERVER_COMPILER_AUTODIFF_FLOW_H_

#include "llvm/ADT/STLFunctionalExtras.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// The local or array of locals that an address leads to; null for other memory.
mlir::Value LocalOf(mlir::Value address);

// Whether an address leads to a record of the thread's tape, which only code of gradients has.
bool IsOnTape(mlir::Value address);

// The storage that an address leads to, of all that it may choose from; -1: none, or of several.
int64_t StorageOf(mlir::Value address);

// Visits the values that take their value from `value` without arithmetic or by it: results of the
// ops that use it, carried values, results of ifs and loops. A local stands for its memory: a store
// leads to it, and it leads to its loads.
void VisitTakers(mlir::Value value, llvm::function_ref<void(mlir::Value)> visit);
// The reverse relation.
void VisitGivers(mlir::Value value, llvm::function_ref<void(mlir::Value)> visit);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_FLOW_H_
