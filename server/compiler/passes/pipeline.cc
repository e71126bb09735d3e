#include "mlir/Transforms/Passes.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

llvm::ArrayRef<PassRow> Pipeline() {
  static const PassRow kRows[] = {
      // First: other passes may leave out what it would refuse.
      {"refuse-simt", CreateRefuseSimtPass, false, false, true},
      // References of functions are addresses of locals until then.
      {"inline-calls", CreateInlineCallsPass, true},
      // Atomics on locals of one thread block their promotion.
      {"demote-atomics", CreateDemoteAtomicsPass},
      {"promote-locals", CreatePromoteLocalsPass},
      {"simplify-control", CreateSimplifyControlPass},
      {"canonicalize", mlir::createCanonicalizerPass},
      // CSE makes one value of what it moves to one block.
      {"hoist-addresses", CreateHoistAddressesPass},
      // Forwarding takes two addresses for equal when they are one value: after CSE.
      {"cse", CreateCsePass},
      // Like forwarding, by addresses that are one value.
      {"merge-updates", CreateMergeUpdatesPass},
      {"forward-stores", CreateForwardStoresPass},
      {"licm", mlir::createLoopInvariantCodeMotionPass},
      {"promote-cells", CreatePromoteCellsPass, true},
      {"promote-locals", CreatePromoteLocalsPass, true},
      {"simplify-control", CreateSimplifyControlPass, true},
      {"canonicalize", mlir::createCanonicalizerPass, true},
      {"cse", CreateCsePass, true},
      // A load that left a loop has one adjoint, not one an iteration.
      {"differentiate", CreateDifferentiatePass, true},
      {"demote-atomics", CreateDemoteAtomicsPass, true},
      {"promote-locals", CreatePromoteLocalsPass, true},
      {"fold-zeros", CreateFoldZerosPass, true},
      {"simplify-control", CreateSimplifyControlPass, true},
      {"canonicalize", mlir::createCanonicalizerPass, true},
      {"cse", CreateCsePass, true},
      {"licm", mlir::createLoopInvariantCodeMotionPass, true},
      {"check-reads", CreateCheckReadsPass, true},
      {"unroll-additions", CreateUnrollAdditionsPass, true},
      {"share-values", CreateShareValuesPass, true},
      {"gather", CreateGatherPass, true},
      {"demote-atomics", CreateDemoteAtomicsPass, true},
      {"canonicalize", mlir::createCanonicalizerPass, true},
      {"cse", CreateCsePass, true},
      {"licm", mlir::createLoopInvariantCodeMotionPass, true},
      {"differentiate", CreateDifferentiatePass, true, true},
      {"demote-atomics", CreateDemoteAtomicsPass, true, true},
      {"promote-locals", CreatePromoteLocalsPass, true, true},
      {"fold-zeros", CreateFoldZerosPass, true, true},
      {"simplify-control", CreateSimplifyControlPass, true, true},
      {"canonicalize", mlir::createCanonicalizerPass, true, true},
      {"cse", CreateCsePass, true, true},
      {"licm", mlir::createLoopInvariantCodeMotionPass, true, true},
      {"check-reads", CreateCheckReadsPass, true, true},
      {"carry-branches", CreateCarryBranchesPass},
      // Its locals are promoted after `reduce`. Before `offload`, while loops show which statements
      // write what.
      {"carry-cells", CreateCarryCellsPass},
      {"offload", CreateOffloadPass},
      // Before passes that may leave out what it would refuse, or ask for the size of blocks.
      {"check-simt", CreateCheckSimtPass},
      // Before `reduce`: a reduction without its guard is one of each iteration.
      {"narrow-bounds", CreateNarrowBoundsPass},
      {"canonicalize", mlir::createCanonicalizerPass},
      {"simplify-control", CreateSimplifyControlPass},
      // Accumulators are locals until the second promotion.
      {"reduce", CreateReducePass},
      {"promote-locals", CreatePromoteLocalsPass},
      {"cse", CreateCsePass},
      // Before the code generator, after all that adds or removes carried values.
      {"reduction-form", CreateReductionFormPass},
      // Copies bodies, so all that makes them smaller comes first.
      {"split-rows", CreateSplitRowsPass, false, false, true},
      // Last: pairs are of atomics that follow each other in the code as it is emitted.
      {"pair-atomics", CreatePairAtomicsPass},
      // Looks at whole bodies as they are emitted, and changes none.
      {"lanes", CreateLanesPass},
  };
  return kRows;
}

}  // namespace kiln
