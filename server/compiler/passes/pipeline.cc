// The passes in order. A comment says why a pass is where it is, if another place would be wrong.
#include "mlir/Transforms/Passes.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

std::optional<int64_t> CpuLevelOf(ir::KernelOp kernel) {
  const auto level = kernel->getAttrOfType<mlir::IntegerAttr>(kCpuLevelAttribute);
  return level ? std::optional(level.getInt()) : std::nullopt;
}

llvm::ArrayRef<PassRow> Pipeline() {
  static const PassRow kRows[] = {
      // First: other passes may leave out what it would refuse.
      {"refuse-simt", CreateRefuseSimtPass, PassFor::kCpus},
      // References of functions are addresses of locals until then.
      {"inline-calls", CreateInlineCallsPass, PassFor::kGradients},
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
      {"promote-cells", CreatePromoteCellsPass, PassFor::kGradients},
      {"promote-locals", CreatePromoteLocalsPass, PassFor::kGradients},
      {"simplify-control", CreateSimplifyControlPass, PassFor::kGradients},
      {"canonicalize", mlir::createCanonicalizerPass, PassFor::kGradients},
      {"cse", CreateCsePass, PassFor::kGradients},
      // A load that left a loop has one adjoint, not one an iteration.
      {"differentiate", CreateDifferentiatePass, PassFor::kGradients},
      {"demote-atomics", CreateDemoteAtomicsPass, PassFor::kGradients},
      {"promote-locals", CreatePromoteLocalsPass, PassFor::kGradients},
      {"fold-zeros", CreateFoldZerosPass, PassFor::kGradients},
      {"simplify-control", CreateSimplifyControlPass, PassFor::kGradients},
      {"canonicalize", mlir::createCanonicalizerPass, PassFor::kGradients},
      {"cse", CreateCsePass, PassFor::kGradients},
      {"licm", mlir::createLoopInvariantCodeMotionPass, PassFor::kGradients},
      {"check-reads", CreateCheckReadsPass, PassFor::kGradients},
      {"unroll-additions", CreateUnrollAdditionsPass, PassFor::kGradients},
      {"share-values", CreateShareValuesPass, PassFor::kGradients},
      {"gather", CreateGatherPass, PassFor::kGradients},
      {"demote-atomics", CreateDemoteAtomicsPass, PassFor::kGradients},
      {"canonicalize", mlir::createCanonicalizerPass, PassFor::kGradients},
      {"cse", CreateCsePass, PassFor::kGradients},
      {"licm", mlir::createLoopInvariantCodeMotionPass, PassFor::kGradients},
      {"differentiate", CreateDifferentiatePass, PassFor::kSecondGradients},
      {"demote-atomics", CreateDemoteAtomicsPass, PassFor::kSecondGradients},
      {"promote-locals", CreatePromoteLocalsPass, PassFor::kSecondGradients},
      {"fold-zeros", CreateFoldZerosPass, PassFor::kSecondGradients},
      {"simplify-control", CreateSimplifyControlPass, PassFor::kSecondGradients},
      {"canonicalize", mlir::createCanonicalizerPass, PassFor::kSecondGradients},
      {"cse", CreateCsePass, PassFor::kSecondGradients},
      {"licm", mlir::createLoopInvariantCodeMotionPass, PassFor::kSecondGradients},
      {"check-reads", CreateCheckReadsPass, PassFor::kSecondGradients},
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
      {"split-rows", CreateSplitRowsPass, PassFor::kCpus},
      {"jam-rows", CreateJamRowsPass},
      // Last: pairs are of atomics that follow each other in the code as it is emitted.
      {"pair-atomics", CreatePairAtomicsPass},
      // Looks at whole bodies as they are emitted, and changes none.
      {"lanes", CreateLanesPass},
  };
  return kRows;
}

}  // namespace kiln
