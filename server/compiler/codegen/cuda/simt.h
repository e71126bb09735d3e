// The operations of ti.simt: PTX has an instruction for each.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_SIMT_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_SIMT_H_

#include <cstdint>

#include "server/compiler/codegen/function_emitter.h"

namespace kiln::cuda {

// What Target::EmitSimt and Target::AllocateShared state.
bool EmitSimt(FunctionEmitter& f, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> operands,
              llvm::Value** result);
llvm::Value* AllocateShared(KernelState* state, llvm::Type* type, int64_t count);

// Before optimisation: all threads of a block or warp have to come to a barrier, vote or shuffle
// together. So passes must not move the calls of functions with one into branches, either.
void MarkConvergent(llvm::Module& module);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_SIMT_H_
