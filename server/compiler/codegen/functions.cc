// Functions of the kernel: what they look like to LLVM, and calls of them.
//
// A function takes the launch's pointer, the stream of random numbers (null: it draws none) and the
// number of the caller's iteration (0: it prints nothing), then its arguments: scalars, and
// pointers for addresses. It returns its result, or a struct of several. It is internal and of the
// C calling convention, so LLVM inlines it where that pays, and drops parameters that are not used.
#include "server/compiler/codegen/emit_kernel.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {
namespace {

using llvm::Value;

// Parameters of the LLVM function before those of the kernel's function.
enum HiddenArgument : unsigned { kLaunch, kRandom, kIteration, kHiddenArguments };

llvm::Type* ResultType(mlir::ArrayAttr results, llvm::LLVMContext& context) {
  llvm::SmallVector<llvm::Type*> types;
  for (mlir::Type type : results.getAsValueRange<mlir::TypeAttr>()) {
    types.push_back(LlvmType(type, context));
  }
  if (types.empty()) return llvm::Type::getVoidTy(context);
  return types.size() == 1 ? types[0] : llvm::StructType::get(context, types);
}

llvm::Function* NewFunction(ir::FunctionOp op, const std::string& name, llvm::Module* module) {
  llvm::LLVMContext& context = module->getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::SmallVector<llvm::Type*> types = {pointer, pointer, llvm::Type::getInt64Ty(context)};
  for (mlir::BlockArgument argument : op.getBody().getArguments()) {
    const bool is_address = llvm::isa<ir::AddrType>(argument.getType());
    types.push_back(is_address ? pointer : LlvmType(argument.getType(), context));
  }
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(ResultType(op.getResults(), context), types, /*isVarArg=*/false),
      llvm::GlobalValue::InternalLinkage, name, module);
  function->setDoesNotThrow();
  // The launch's struct: kernels write what it leads to, never the struct itself.
  function->addParamAttr(kLaunch, llvm::Attribute::ReadOnly);
  return function;
}

}  // namespace

KernelState::KernelState(ir::KernelOp kernel, llvm::Module* module, const codegen::Target* target)
    : module(module),
      target(target),
      kernel(kernel),
      storages(kernel.getStorages().begin(), kernel.getStorages().end()),
      scopes(storages, module->getContext()),
      facts(kernel),
      num_slots(kernel->getAttrOfType<mlir::IntegerAttr>(kSlotsAttribute)
                    ? kernel->getAttrOfType<mlir::IntegerAttr>(kSlotsAttribute).getInt()
                    : 0),
      deterministic(kernel->hasAttr(kDeterministicAttribute)),
      temporary_bytes(static_cast<int64_t>(kernel.getTemporaryBytes().value_or(0))) {
  for (auto function : kernel.getBody().getOps<ir::FunctionOp>()) {
    // The order in the module need not be that of the numbers.
    if (function.getNumber() >= functions.size()) functions.resize(function.getNumber() + 1);
    functions[function.getNumber()] = function;
  }
}

int64_t KernelState::TakeTemporaries(int64_t bytes) {
  const auto at = static_cast<int64_t>(llvm::alignTo(temporary_bytes, 16));
  temporary_bytes = at + bytes;
  return at;
}

llvm::Function* KernelState::FunctionFor(ir::CallOp call, bool parallel) {
  const uint64_t number = call.getCallee();
  if (number >= functions.size() || !functions[number]) return nullptr;
  // Without atomics, both are the same code.
  parallel = parallel || !facts.EffectsOf(call).Has(kIsAtomic);
  llvm::Function*& code = made[{number, parallel}];
  if (code == nullptr) {
    const std::string name =
        codegen::kFunctionPrefix + std::to_string(number) + (parallel ? "" : "_alone");
    code = NewFunction(functions[number], name, module);
    // The body is emitted later: here the builder is in the middle of the caller.
    pending.push_back({functions[number], parallel, code});
  }
  return code;
}

// Emitting a function may call others for the first time: they join those that are pending.
void EmitFunctions(KernelState* state) {
  while (!state->pending.empty()) {
    KernelState::Function function = state->pending.back();
    state->pending.pop_back();
    FunctionEmitter f(state, function.code, function.parallel);
    mlir::Region& body = function.op.getBody();
    if (state->facts.Any(body, kDraws)) f.set_random(function.code->getArg(kRandom));
    if (state->facts.Any(body, kReports)) f.set_iteration(function.code->getArg(kIteration));
    f.trees().set_effects(TreeEffectsOf(body, state->kernel, state->functions));
    unsigned next = kHiddenArguments;
    for (mlir::BlockArgument argument : body.getArguments()) {
      Value* given = function.code->getArg(next++);
      if (llvm::isa<ir::AddrType>(argument.getType())) {
        f.MapAddress(argument, given);
      } else {
        f.Map(argument, given);
      }
    }
    f.EmitBlock(body.front());
  }
}

// One block returns, and each path that ends the function branches to it with the results.
void FunctionEmitter::MakeReturnBlock() {
  llvm::IRBuilder<> b(return_block_);
  llvm::Type* type = function_->getReturnType();
  if (type->isVoidTy()) {
    b.CreateRetVoid();
    return;
  }
  auto* several = llvm::dyn_cast<llvm::StructType>(type);
  if (several == nullptr) {
    return_values_.push_back(b.CreatePHI(type, 2));
    b.CreateRet(return_values_[0]);
    return;
  }
  for (llvm::Type* element : several->elements()) return_values_.push_back(b.CreatePHI(element, 2));
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < return_values_.size(); ++i) {
    result = b.CreateInsertValue(result, return_values_[i], i);
  }
  b.CreateRet(result);
}

// The results of a launch that failed are not used, but a function must return some.
void FunctionEmitter::ReturnZeros() {
  llvm::SmallVector<Value*, 4> zeros;
  for (llvm::PHINode* phi : return_values_) {
    zeros.push_back(llvm::Constant::getNullValue(phi->getType()));
  }
  BranchTo(return_block_, return_values_, zeros);
}

void FunctionEmitter::Emit(ir::CallOp op) {
  llvm::Function* callee = state_->FunctionFor(op, parallel_);
  const Effects effects = state_->facts.EffectsOf(op);
  const bool draws = effects.Has(kDraws);
  // A task that draws has made its stream before; without one, a pass has lost a fact.
  if (callee == nullptr || (random_ == nullptr && draws)) {
    state_->unsupported = op->getName().getStringRef().str();
    for (mlir::Value result : op.getResults()) {
      Map(result, llvm::PoisonValue::get(LlvmType(result.getType(), b_.getContext())));
    }
    return;
  }
  Value* none = llvm::ConstantPointerNull::get(b_.getPtrTy());
  const bool prints = effects.Has(kReports) && iteration_ != nullptr;
  llvm::SmallVector<Value*> arguments = {function_->getArg(kLaunch), draws ? random_ : none,
                                         prints ? iteration_ : b_.getInt64(0)};
  for (mlir::Value argument : op.getArguments()) {
    const bool is_address = llvm::isa<ir::AddrType>(argument.getType());
    arguments.push_back(is_address ? AddressFor(argument, op).pointer : ValueOf(argument));
  }
  llvm::CallInst* call = b_.CreateCall(callee, arguments);
  const unsigned count = op.getNumResults();
  for (unsigned i = 0; i < count; ++i) {
    Map(op.getResult(i), count == 1 ? call : b_.CreateExtractValue(call, i));
  }
  // An assert that failed in the callee ends its callers as well.
  if (effects.Has(kFails)) EndIfFailed();
}

void FunctionEmitter::EndIfFailed() {
  llvm::BasicBlock* failed = NewBlock("fail");
  llvm::BasicBlock* passed = NewBlock("passed");
  // Volatile: another thread or a signal handler may set it at any time.
  auto* flag = b_.CreateLoad(b_.getInt32Ty(), FromLaunch(codegen::LaunchField::kFailed),
                             /*isVolatile=*/true);
  TagTables(flag);  // the kernel's own stores do not change it
  b_.CreateCondBr(b_.CreateIsNull(flag), passed, failed);
  b_.SetInsertPoint(failed);
  ReturnZeros();
  b_.SetInsertPoint(passed);
}

}  // namespace kiln
