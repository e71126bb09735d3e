// Loops over ranges and conditions, and what all loops are made of.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_LOOPS_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_LOOPS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// The iterations of a loop: a box, the last dimension innermost. All bounds are of one type.
struct LoopBox {
  Scalars lowers, uppers;
  const proto::LoopConfig& config;
  int over = -1;  // the position of the storage that it is over; -1: none
};

// Calls back, once, with the loop's indices and the builder in the innermost body, which the callee
// fills and ends (LowerLoopBody).
using LoopFiller = llvm::function_ref<void(const Scalars&)>;

// Emits a loop, parallel if it may be, else a nest of serial ones. `block` is what `fill` lowers: a
// break in it leaves the whole nest.
void LowerNest(LoweringContext& c, const LoopBox& box, BlockId block, LoopFiller fill);

// Emits a parallel loop over the active cells of a storage in a tree, with an index per axis.
void LowerListLoop(LoweringContext& c, int storage, const proto::LoopConfig& config, int axes,
                   LoopFiller fill);

// Lowers the block of a loop and ends the iteration.
void LowerLoopBody(LoweringContext& c, BlockId block);

// Moves the builder behind the loop that it is in, and ends the iteration of the loop around that.
void ContinueOuterLoop(LoweringContext& c);

void Lower(LoweringContext& c, RangeForNode node);
void Lower(LoweringContext& c, WhileNode node);
void Lower(LoweringContext& c, BlockLocalNode node);
void Lower(LoweringContext& c, BreakNode node);
void Lower(LoweringContext& c, ContinueNode node);
Scalars Lower(LoweringContext& c, LoopIndexNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_LOOPS_H_
