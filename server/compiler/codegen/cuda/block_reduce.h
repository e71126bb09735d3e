// Sums and the like of all threads of a block, so that a task ends with one atomic for each block.
// Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_BLOCK_REDUCE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_BLOCK_REDUCE_H_

#include <optional>

#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// How the values of two threads become one, for each accumulator of the task. Nothing if the task's
// finish does more than add each to memory by one atomic, or if a block has no memory for so many.
std::optional<llvm::SmallVector<ir::AtomicKind, 4>> CombiningKinds(ir::RangeTaskOp task);

// Combines `values` of all threads of the block, by shuffles within warps and shared memory between
// them. Emission continues in the block's first thread, which has the results; the others go to
// `others`. Requires: blocks of whole warps, all of whose threads get here.
llvm::SmallVector<llvm::Value*, 4> EmitBlockReduction(FunctionEmitter& f, ir::RangeTaskOp task,
                                                      llvm::ArrayRef<ir::AtomicKind> kinds,
                                                      llvm::ArrayRef<llvm::Value*> values,
                                                      llvm::BasicBlock* others);

// Whether the result depends on the order in which blocks combine their values.
bool DependsOnOrder(llvm::ArrayRef<ir::AtomicKind> kinds);

// The most blocks of a task with EmitGridReduction.
inline constexpr int64_t kGridReductionBlocks = 2048;

// Combines the values of all blocks, too, in the order of their numbers. Each block leaves its
// values in the launch's temporaries, and the one that comes last combines them. Emission continues
// in the first thread of that block; all others go to the function's end. Requires: the same.
llvm::SmallVector<llvm::Value*, 4> EmitGridReduction(FunctionEmitter& f, ir::RangeTaskOp task,
                                                     llvm::ArrayRef<ir::AtomicKind> kinds,
                                                     llvm::ArrayRef<llvm::Value*> values);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_BLOCK_REDUCE_H_
