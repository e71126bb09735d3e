// Arithmetic: arith and math operations as LLVM instructions, intrinsics and calls.
#ifndef KILN_SERVER_COMPILER_CODEGEN_SCALAR_OPS_H_
#define KILN_SERVER_COMPILER_CODEGEN_SCALAR_OPS_H_

#include "llvm/IR/IRBuilder.h"
#include "mlir/IR/Operation.h"
#include "server/compiler/codegen/target.h"

namespace kiln {

llvm::Type* LlvmType(mlir::Type type, llvm::LLVMContext& context);
llvm::Constant* LlvmConstant(mlir::Attribute attribute, llvm::LLVMContext& context);

// Calls a function of a library.
llvm::CallInst* CallLibrary(llvm::IRBuilderBase& b, llvm::StringRef name, llvm::Type* type,
                            llvm::ArrayRef<llvm::Value*> operands);
// The same for a function that has no side effects.
llvm::Value* CallPure(llvm::IRBuilderBase& b, llvm::StringRef name, llvm::Type* type,
                      llvm::ArrayRef<llvm::Value*> operands);

// The results of `op`; empty: no arithmetic operation that this knows. The target is asked first.
llvm::SmallVector<llvm::Value*, 2> EmitScalarOp(const codegen::Target& target, llvm::IRBuilder<>& b,
                                                mlir::Operation& op,
                                                llvm::ArrayRef<llvm::Value*> operands);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_SCALAR_OPS_H_
