// Reductions of tensors, and products of matrices.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_REDUCTIONS_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_REDUCTIONS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

Scalars Lower(LoweringContext& c, ReduceNode node);

// OP_MATMUL: (n, k) @ (k, m). A vector is a column on the right, a row on the left.
Scalars LowerMatmul(LoweringContext& c, BinaryNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_REDUCTIONS_H_
