// What range and struct tasks have in common on a CPU. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_TASK_FUNCTION_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_TASK_FUNCTION_H_

#include <string>

#include "kiln/proto/artifact.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::cpu {

// Empty functions of the types KilnTask and KilnBounds (runtime/abi.h).
llvm::Function* NewTaskFunction(llvm::Module* module, const std::string& name);
llvm::Function* NewBoundsFunction(llvm::Module* module, const std::string& name);

// An atomic costs many times what a plain addition does, so for a loop that does little else one
// thread alone beats many. The runtime measures which it is: a task with atomics has a variant for
// a thread that runs it alone.

// Two functions might round the float sums of the task differently. One function then serves both
// variants, by a test at each atomic: makes `f` emit these tests. No other task gets them.
void AskAtAtomics(ir::RangeTaskOp op, FunctionEmitter* f);

// Calls `emit` with the name of each function that the task needs, and whether other threads may
// run it at the same time. Sets alone_symbol.
void EmitVariants(KernelState* state, ir::RangeTaskOp op, proto::Task* task,
                  llvm::function_ref<void(const std::string& name, bool parallel)> emit);

// What an iteration costs, of `cells` runs of the body; and the grain that follows from it.
void SetCost(ir::RangeTaskOp op, uint32_t cells, proto::Task* task);

// The values with which the task's accumulators begin.
llvm::SmallVector<llvm::Value*, 4> InitialValues(FunctionEmitter& f, ir::RangeTaskOp op);
// Ends the function if [begin, end) is empty. Otherwise it continues in a block of that name.
void EndIfEmpty(FunctionEmitter& f, llvm::Value* begin, llvm::Value* end, const char* name);

// Makes the task's function flush denormal numbers to zero if `is_long` (i1), from the builder's
// place on, where no branch has left the function yet. Kept ones take a hundred cycles on some
// processors. The caller's mode comes back at the end.
void FlushDenormals(FunctionEmitter& f, llvm::Value* is_long);

// Leaves a piece's accumulators for the task's finish.
void StorePartials(FunctionEmitter& f, llvm::Value* piece, llvm::ArrayRef<llvm::Value*> values);

// The function that takes in what pieces left; none for a task without accumulators.
void EmitFinish(KernelState* state, ir::RangeTaskOp op, proto::Task* task);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_TASK_FUNCTION_H_
