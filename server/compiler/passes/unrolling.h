// Which loops LLVM unrolls, so that it can vectorise what is around them.
#ifndef KILN_SERVER_COMPILER_PASSES_UNROLLING_H_
#define KILN_SERVER_COMPILER_PASSES_UNROLLING_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// Whether LLVM unrolls the loop and all loops inside: an estimate.
bool IsUnrolled(ir::ForOp loop);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_UNROLLING_H_
