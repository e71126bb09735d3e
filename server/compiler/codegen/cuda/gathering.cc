#include "server/compiler/codegen/cuda/gathering.h"

#include "llvm/IR/Constants.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/dialect/atomic_kinds.h"

namespace kiln::cuda {

bool IsInstruction(ir::AtomicKind kind, mlir::Type type) {
  switch (kind) {
    case ir::AtomicKind::addf:
    case ir::AtomicKind::subf:
      return type.isF32() || type.isF64();
    case ir::AtomicKind::muli:
    case ir::AtomicKind::mulf:
    case ir::AtomicKind::minf:
    case ir::AtomicKind::maxf:
      return false;
    default:
      return type.isInteger(32) || type.isInteger(64);
  }
}

llvm::Constant* GatheringIdentity(ir::AtomicKind kind, mlir::Type type,
                                  llvm::LLVMContext& context) {
  llvm::Constant* identity = LlvmConstant(IdentityOf(kind, type), context);
  return identity->getType()->isFloatingPointTy()
             ? llvm::ConstantFP::getNegativeZero(identity->getType())
             : identity;
}

}  // namespace kiln::cuda
