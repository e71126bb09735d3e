// Range tasks on a CPU.
//
// A task's function takes a part [begin, end) of the linear iteration space and walks it by rows.
// The innermost dimension is a plain counted loop, which LLVM vectorises. A short one of constant
// extent is part of the iteration. The outer indices are carried from row to row without divisions.
// The linear space starts at 0 and leaves out those short dimensions: lower bounds and inner loops
// are in the code itself. Bounds that are not constant have a function of their own.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_TASK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_TASK_H_

#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cpu {

// Target::EmitRangeTask.
void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_RANGE_TASK_H_
