// Updates that a block of threads gathers in shared memory before it makes them in the device's.
// Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_GATHERING_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_GATHERING_H_

#include "llvm/IR/Constant.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln::cuda {

// Whether there are instructions for the atomic, in shared memory and in the device's.
bool IsInstruction(ir::AtomicKind kind, mlir::Type type);

// What a cell holds before the first update. Of sums of floats -0.0, which changes no other number:
// 0.0 would change the sign of a zero.
llvm::Constant* GatheringIdentity(ir::AtomicKind kind, mlir::Type type, llvm::LLVMContext& context);

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_GATHERING_H_
