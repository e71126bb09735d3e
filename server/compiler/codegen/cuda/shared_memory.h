// Memory that the threads of a block share. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_SHARED_MEMORY_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_SHARED_MEMORY_H_

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace kiln::cuda {

// LLVM's numbers of address spaces.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

// The bytes at whose multiples variables begin that are accessed 16 bytes at a time.
inline constexpr uint64_t kSharedAlign = 16;

// A variable of each block, without a value at first. Its pointers are of the shared space.
inline llvm::GlobalVariable* NewShared(llvm::Module& module, llvm::Type* type,
                                       llvm::StringRef name) {
  return new llvm::GlobalVariable(module, type, /*isConstant=*/false,
                                  llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                                  name, /*InsertBefore=*/nullptr, llvm::GlobalValue::NotThreadLocal,
                                  kSharedSpace);
}

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_SHARED_MEMORY_H_
