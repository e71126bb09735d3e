// Arithmetic: arith and math operations as LLVM instructions, intrinsics and calls.
#ifndef KILN_SERVER_COMPILER_CODEGEN_SCALAR_OPS_H_
#define KILN_SERVER_COMPILER_CODEGEN_SCALAR_OPS_H_

#include "llvm/IR/IRBuilder.h"
#include "mlir/IR/Operation.h"

namespace kiln {

llvm::Type* LlvmType(mlir::Type type, llvm::LLVMContext& context);
llvm::Constant* LlvmConstant(mlir::Attribute attribute, llvm::LLVMContext& context);

// The results of `op`; empty: not an arithmetic operation that is known.
llvm::SmallVector<llvm::Value*, 2> EmitScalarOp(llvm::IRBuilder<>& b, mlir::Operation& op,
                                                llvm::ArrayRef<llvm::Value*> operands);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_SCALAR_OPS_H_
