// Range tasks on CUDA: a loop of each thread over its share of the iterations.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_RANGE_TASK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_RANGE_TASK_H_

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::cuda {

// codegen::Target::EmitRangeTask.
void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_RANGE_TASK_H_
