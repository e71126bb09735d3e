// Which fields a task only adds to, so that each thread may have a copy of them. Private to this
// folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_SCATTERS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_SCATTERS_H_

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::cpu {

// Sets task->scatters, which stay empty if some atomic of the task does not allow copies. Requires:
// the task has a function for one thread that runs alone.
void SetScatters(KernelState* state, ir::RangeTaskOp op, proto::Task* task);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_SCATTERS_H_
