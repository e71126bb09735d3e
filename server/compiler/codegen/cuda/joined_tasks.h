// Tasks that are too short for a launch of their own: code that one thread runs, and loops with
// less to do than one block. Those that follow each other are one entry, of one block. Private to
// this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_JOINED_TASKS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_JOINED_TASKS_H_

#include "kiln/proto/artifact.pb.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// As Target's. Not of tasks that reach trees or tapes, whose threads work together, or that call
// functions: those report numbers of their own.
bool Joins(const KernelState& state, mlir::Operation& task);
void EmitJoined(KernelState* state, llvm::ArrayRef<proto::Task*> tasks);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_JOINED_TASKS_H_
