// How LLVM is to vectorise the cells of a range task. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_VECTORISE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_VECTORISE_H_

#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cpu {

// Whether LLVM should store vectors by masks in the task's loop, where the processor has registers
// for masks: in cells of which the loop leaves out a part.
bool StoresByMasks(ir::RangeTaskOp op);

// Whether LLVM should take it that no iteration depends on others. The loop reads cells that data
// chooses from an array that may be the one that it writes, so LLVM cannot ask at run time whether
// they overlap. If they did, the program's iterations would depend on each other, which those of a
// parallel loop must not. An iteration loads before it stores: LLVM then keeps the order of its own
// accesses, also of those that it joins for several iterations.
bool AreIndependent(ir::RangeTaskOp op);

// As LLVM sees, or by SLP alone where vectors across iterations would be slower: in cells of many
// components, and where each iteration stores a part of a cell without masks.
FunctionEmitter::Vectorise VectoriseOf(ir::RangeTaskOp op, bool by_masks);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_VECTORISE_H_
