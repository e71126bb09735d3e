// Nodes that make, take apart or read values.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_VALUES_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_VALUES_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// The position that the index nodes give in a tensor of this shape, row-major. Beyond the tensor,
// constants are the check's concern and others undefined; debug mode asserts them.
Index LinearIndex(LoweringContext& c, NodeIds indices, const std::vector<uint32_t>& shape);
// Whether all are constants.
bool AreConstant(const LoweringContext& c, NodeIds indices);

// Scalar values as i32, one each.
Scalars IndicesOf(LoweringContext& c, NodeIds nodes);

Scalars Lower(LoweringContext& c, ConstNode node);
Scalars Lower(LoweringContext& c, ParamNode node);
Scalars Lower(LoweringContext& c, MakeTensorNode node);
Scalars Lower(LoweringContext& c, MakeStructNode node);
Scalars Lower(LoweringContext& c, ExtractNode node);
Scalars Lower(LoweringContext& c, GetMemberNode node);
Scalars Lower(LoweringContext& c, RandomNode node);
Scalars Lower(LoweringContext& c, SimtNode node);
Scalars Lower(LoweringContext& c, ShapeNode node);

// Hints of ranges and gradients: the value itself.
Scalars Lower(LoweringContext& c, AssumeInRangeNode node);
Scalars Lower(LoweringContext& c, LoopUniqueNode node);
Scalars Lower(LoweringContext& c, StopGradientNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_VALUES_H_
