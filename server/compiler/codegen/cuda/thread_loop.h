// What the tasks of CUDA devices have in common: how threads take iterations, and what remains of
// their accumulators. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_THREAD_LOOP_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_THREAD_LOOP_H_

#include "common/language/simt_ops.h"
#include "kiln/proto/artifact.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// A special register, such as the number of the thread in its block, as i64.
llvm::Value* EmitSpecial(llvm::IRBuilderBase& b, llvm::Intrinsic::ID which);

// The number of the calling thread among those of the grid, as i64.
llvm::Value* EmitThreadNumber(llvm::IRBuilderBase& b);

// The threads of a block of the task: what the program asks for, if a device has so many.
uint32_t BlockOf(ir::RangeTaskOp op);
// A loop of one thread needs no atomics.
bool IsParallel(ir::RangeTaskOp op);
// States how many threads run the task.
void SetThreads(const KernelState& state, ir::RangeTaskOp op, proto::Task* task);

// The loop of a task as its threads run it, each with partial results of its own:
//
//   ThreadLoop loop(f, task);
//   loop.Emit(total, 1, map);  // once, or for one part of the iterations after the other
//   loop.Finish();
class ThreadLoop {
 public:
  ThreadLoop(FunctionEmitter& f, ir::RangeTaskOp task);

  // Ends the iteration unless an i1 holds.
  using SkipUnless = llvm::function_ref<void(llvm::Value* condition)>;
  // States what the body takes an iteration's indices for, and starts its random numbers:
  // iteration `within` of chunk `number`.
  using Map =
      llvm::function_ref<void(llvm::Value* number, int64_t within, const SkipUnless& skip_unless)>;
  // Told that the code of iteration `within` has been emitted.
  using Emitted = llvm::function_ref<void(int64_t within)>;

  // Emits what is before chunk `number`, and returns an i1: whether its iterations run.
  using Begin = llvm::function_ref<llvm::Value*(llvm::Value* number)>;

  // Emits the task's body for the chunks t, t + T, ... below `total`, of thread t of T. A chunk is
  // `length` iterations.
  void Emit(llvm::Value* total, int64_t length, Map map, Emitted emitted = [](int64_t) {});
  void Emit(llvm::Value* total, int64_t length, Begin begin, Map map, Emitted emitted);
  // The same for chunks whose lengths are known when the code runs. `begin` emits what is before
  // chunk `number` and returns its length, `map` states the indices of iteration `within` of it.
  void EmitUneven(llvm::Value* total, llvm::function_ref<llvm::Value*(llvm::Value* number)> begin,
                  llvm::function_ref<void(llvm::Value* within)> map);
  // Emits the task's finish, and ends the function.
  void Finish();

 private:
  using Values = llvm::SmallVector<llvm::Value*, 4>;
  Values EmitIteration(const Values& before, llvm::function_ref<void(const SkipUnless&)> map);
  Values EmitChunk(llvm::Value* number, int64_t length, Values values, Map map, Emitted emitted);
  using Body = llvm::function_ref<Values(llvm::Value* number, Values values)>;
  Values EmitLoop(llvm::Value* first, llvm::Value* end, llvm::Value* step, const Values& before,
                  Body body);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  llvm::Value* first_;    // the number of the thread
  llvm::Value* threads_;  // how many there are
  llvm::Value* some_;     // whether the thread has an iteration
  Values values_;         // of its accumulators
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_THREAD_LOOP_H_
