// Functions of a kernel, and calls of them.
//
// Arguments are passed in pieces, a large tensor as the address of the caller's array, a reference
// as an address. Results are returned in pieces, except large tensors: the caller makes arrays for
// them and passes their addresses, after all arguments.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_FUNCTIONS_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_FUNCTIONS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Lowers a function at the builder's place. Requires: not the kernel's body.
void LowerFunction(const UnitLowering& in, FunctionId id, mlir::OpBuilder builder);

Scalars Lower(LoweringContext& c, CallNode node);
void Lower(LoweringContext& c, ReferenceNode node);
void ReturnFromFunction(LoweringContext& c, ReturnNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_FUNCTIONS_H_
