// Tasks over the active cells of a storage in a tree with sparse levels, on a CPU.
//
// The runtime hands out elements of a list (KilnElement in runtime/abi.h). In lists of cells, the
// dense levels between an element's cell and the storage are loops of constant extents in the code.
// In lists of slices, the loop runs over pointers, mask words or cells of a chunk. Both know the
// address of the cell that they are at. struct_emitter.h explains the code.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_STRUCT_TASK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_STRUCT_TASK_H_

#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cpu {

// Target::EmitStructTask.
void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_STRUCT_TASK_H_
