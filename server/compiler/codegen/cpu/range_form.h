// The form that a range task's code takes on a CPU: what follows from its body and its dimensions
// alone. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_FORM_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_FORM_H_

#include <cstdint>
#include <vector>

#include "server/compiler/codegen/dimensions.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::cpu {

// How many innermost dimensions belong to one iteration of the linear space: short constant ones. A
// row of a few cells would cost more than its cells. With them, an iteration is a block of cells,
// whose loops have constant bounds and are unrolled by LLVM.
int FoldedDimensions(const std::vector<Dimension>& dimensions);

// The branch by which passes/split_rows.cc has split the body; null: it has not.
ir::IfOp SplitOf(ir::RangeTaskOp op);

// The number of lanes in which a task runs; 0: one iteration after the other.
int64_t LanesOf(KernelState* state, ir::RangeTaskOp op, const std::vector<Dimension>& dimensions);

// The step by which chunks may end; 0: anywhere. Vector code, and the scalar code for what is left
// at the end of a row, may round differently (functions, quotients). Chunks end only where vectors
// do, so that results do not depend on how the runtime divides a loop. Pieces need no step: they
// are the same in every run.
//
// Lanes round as scalar code does. But a chunk that ends within a vector leaves lanes idle.
int64_t StepOf(ir::RangeTaskOp op, int64_t lanes);

// Whether the body computes floats, which may be denormal.
bool ComputesFloats(mlir::Region& region);

// Whether all atomics update numbers that adjoin their neighbours, at places that data give, such
// as the masses of grid cells around a particle. SLP would make one load and one store of
// neighbours. The next iteration's pair often has one number of this one's and one more: its load
// then waits until the store is in the cache, which takes longer than SLP gains. Vectors in the
// cells do not overlap so.
bool ScattersNumbers(ir::RangeTaskOp op);

// The address to which a loop stores cell after cell without reading there. Null if the loop does
// much more than copy other cells. Loops that read nothing are as fast through the caches, since
// processors write whole lines without reading them first.
//
// Not for bodies whose vector and scalar code may round differently: where vectors begin depends on
// the address. So there are no functions and quotients, and too few sums for the SLP vectoriser to
// change their order.
ir::GlobalOp StreamOf(ir::RangeTaskOp op);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_FORM_H_
