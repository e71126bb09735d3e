#include "server/compiler/codegen/dimensions.h"

namespace kiln {

using llvm::Value;

std::vector<Dimension> EmitDimensions(FunctionEmitter& f, ir::RangeTaskOp task) {
  llvm::IRBuilder<>& b = f.builder();
  std::vector<Dimension> dimensions;
  ir::YieldOp yield = f.EmitBlock(task.getBounds().front());
  for (int d = 0; d < task.getNumDims(); ++d) {
    Value* lower = b.CreateSExt(f.ValueOf(yield.getValues()[2 * d]), b.getInt64Ty());
    Value* upper = b.CreateSExt(f.ValueOf(yield.getValues()[2 * d + 1]), b.getInt64Ty());
    // An empty dimension makes the product 0; a negative extent would make it negative, or positive
    // if there are two.
    Value* extent = b.CreateSub(upper, lower);
    extent = b.CreateSelect(b.CreateICmpSGT(extent, b.getInt64(0)), extent, b.getInt64(0));
    dimensions.push_back({lower, upper, extent});
  }
  return dimensions;
}

}  // namespace kiln
