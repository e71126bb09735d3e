// Ops on the elements of tensors, and on scalars.
#ifndef KILN_SERVER_COMPILER_LOWERING_ELEMENTWISE_H_
#define KILN_SERVER_COMPILER_LOWERING_ELEMENTWISE_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Element `at` of an element-wise node (IsElementwise in deferral.h), computed from elements of its
// operands.
mlir::Value ComputeElement(LoweringContext& c, NodeId id, const Index& at);

Scalars Lower(LoweringContext& c, UnaryNode node);
Scalars Lower(LoweringContext& c, BinaryNode node);  // products of matrices, too
Scalars Lower(LoweringContext& c, TernaryNode node);
Scalars Lower(LoweringContext& c, CastToNode node);
Scalars Lower(LoweringContext& c, PickNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_ELEMENTWISE_H_
