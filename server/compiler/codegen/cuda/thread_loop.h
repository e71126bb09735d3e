// What the tasks of CUDA devices have in common: how threads take iterations, and what remains of
// their accumulators. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_THREAD_LOOP_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_THREAD_LOOP_H_

#include "kiln/proto/artifact.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

inline constexpr uint32_t kWarp = 32;  // threads

// A special register, such as the number of the thread in its block, as i64.
llvm::Value* EmitSpecial(llvm::IRBuilderBase& b, llvm::Intrinsic::ID which);

// The number of the calling thread among those of the grid, as i64.
llvm::Value* EmitThreadNumber(llvm::IRBuilderBase& b);

// A loop of one thread needs no atomics.
bool IsParallel(ir::RangeTaskOp op);
// States how many threads run the task.
void SetThreads(ir::RangeTaskOp op, proto::Task* task);

// Ends the iteration unless an i1 holds.
using SkipUnless = llvm::function_ref<void(llvm::Value* condition)>;

// Emits the task's body for the iterations t, t + T, ... below `total`, of thread t of T, and then
// its finish, and ends the function. `map` states what the body takes an iteration's indices for,
// and starts its random numbers.
void EmitThreadLoop(
    FunctionEmitter& f, ir::RangeTaskOp task, llvm::Value* total,
    llvm::function_ref<void(llvm::Value* iteration, const SkipUnless& skip_unless)> map);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_THREAD_LOOP_H_
