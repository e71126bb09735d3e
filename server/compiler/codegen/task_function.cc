#include "server/compiler/codegen/task_function.h"

namespace kiln {

llvm::Function* NewTaskFunction(llvm::Module* module, const std::string& name, bool is_bounds) {
  llvm::LLVMContext& c = module->getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(c);
  llvm::Type* pointer = llvm::PointerType::get(c, 0);
  llvm::SmallVector<llvm::Type*, 4> types = {pointer, pointer};
  if (!is_bounds) types = {pointer, i64, i64, llvm::Type::getInt32Ty(c)};
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(c), types, false),
                             llvm::GlobalValue::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  return function;
}

bool HasAtomics(ir::RangeTaskOp op, const FunctionFacts& facts) {
  return op.getBody()
      .walk([&](mlir::Operation* inner) {
        auto call = llvm::dyn_cast<ir::CallOp>(inner);
        const bool found = llvm::isa<ir::AtomicOp, ir::UpdateOp, ir::AppendOp>(inner) ||
                           (call && facts.HasAtomics(call));
        return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace kiln
