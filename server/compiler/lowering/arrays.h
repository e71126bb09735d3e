// Arrays on the stack of the thread that runs a task, and loops over their elements.
#ifndef KILN_SERVER_COMPILER_LOWERING_ARRAYS_H_
#define KILN_SERVER_COMPILER_LOWERING_ARRAYS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// The address of a new array. Reports a kernel that needs more stack than threads have.
mlir::Value NewArray(LoweringContext& c, Scalar scalar, uint64_t count);

// The address of an element, and its value.
mlir::Value ElementOf(LoweringContext& c, mlir::Value array, const Index& at);
mlir::Value LoadFrom(LoweringContext& c, mlir::Value array, const Index& at);
void StoreInto(LoweringContext& c, mlir::Value array, const Index& at, mlir::Value value);

// A new array with the given elements.
mlir::Value ArrayOf(LoweringContext& c, Scalar scalar, const Scalars& elements);

// Begins a serial loop, moves the builder into its body and returns the loop's index, of the type
// of the bounds. The caller ends the body.
mlir::Value BeginFor(LoweringContext& c, mlir::Value lower, mlir::Value upper);

// A loop that runs `body` for each number below `count`.
void Repeat(LoweringContext& c, uint64_t count, llvm::function_ref<void(const Index&)> body);
// The same over the elements of a tensor; with `by_rows`, a matrix's in a nest of two loops.
void RepeatOver(LoweringContext& c, const Type& type, bool by_rows,
                llvm::function_ref<void(const Index&)> body);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_ARRAYS_H_
