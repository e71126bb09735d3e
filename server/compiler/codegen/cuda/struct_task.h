// Loops over the active cells of sparse SNodes. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_STRUCT_TASK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_STRUCT_TASK_H_

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// The task's list is one of the device (KilnCudaList), made before. Each element is as many
// iterations as it may have cells, so that neighbouring threads are at neighbouring cells.
void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_STRUCT_TASK_H_
