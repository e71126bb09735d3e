#include "server/compiler/codegen/cpu/task_function.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "server/compiler/codegen/cpu/abi.h"
#include "server/compiler/codegen/cpu/scatters.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/passes/cost.h"

namespace kiln::cpu {
namespace {

using llvm::Value;

// What a piece should take, in the nanoseconds of RegionCost: much beside starting and finishing
// it, little beside what makes a loop worth sharing.
constexpr uint64_t kGrainNanoseconds = 16384;

// The place of accumulator `index` of a piece.
Value* PartialAt(FunctionEmitter& f, Value* piece, size_t count, size_t index) {
  llvm::IRBuilder<>& b = f.builder();
  Value* number = b.CreateMul(b.CreateSExt(piece, b.getInt64Ty()), b.getInt64(count));
  return b.CreateInBoundsGEP(b.getInt64Ty(), f.EntryLoad(f.launch(), abi::kPartials),
                             b.CreateAdd(number, b.getInt64(index)));
}

// An exported function whose first argument is the context.
llvm::Function* NewFunction(llvm::Module* module, const std::string& name,
                            llvm::ArrayRef<llvm::Type*> types) {
  llvm::Type* none = llvm::Type::getVoidTy(module->getContext());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(none, types, /*isVarArg=*/false),
                                          llvm::GlobalValue::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  // So loads of its fields can leave loops.
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  return function;
}

bool SumsFloats(ir::RangeTaskOp op) {
  return llvm::any_of(op.getInits(),
                      [](mlir::Attribute init) { return llvm::isa<mlir::FloatAttr>(init); });
}

// Volatile, so that LLVM does not make the loop twice, once for each answer: the copies would round
// differently.
Value* EmitRunsAlone(FunctionEmitter& f) {
  llvm::IRBuilder<>& b = f.builder();
  Value* at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f.launch(), abi::kAlone);
  return b.CreateIsNotNull(b.CreateLoad(b.getInt64Ty(), at, /*isVolatile=*/true));
}

}  // namespace

llvm::Function* NewTaskFunction(llvm::Module* module, const std::string& name) {
  llvm::LLVMContext& c = module->getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(c);
  return NewFunction(module, name,
                     {llvm::PointerType::get(c, 0), i64, i64, llvm::Type::getInt32Ty(c)});
}

llvm::Function* NewBoundsFunction(llvm::Module* module, const std::string& name) {
  llvm::Type* pointer = llvm::PointerType::get(module->getContext(), 0);
  return NewFunction(module, name, {pointer, pointer});
}

void AskAtAtomics(ir::RangeTaskOp op, FunctionEmitter* f) {
  if (SumsFloats(op)) f->set_runs_alone(EmitRunsAlone);
}

// The variant that runs alone is a second function, or the same one with tests (AskAtAtomics).
void EmitVariants(KernelState* state, ir::RangeTaskOp op, proto::Task* task,
                  llvm::function_ref<void(const std::string& name, bool parallel)> emit) {
  const bool parallel = op.getMaxThreads() != 1;
  emit(task->symbol(), parallel);
  if (!parallel || !state->facts.Any(op.getBody(), kIsAtomic)) return;
  if (SumsFloats(op)) {
    // Float sums must not depend on which variant runs: one function makes one order of additions.
    task->set_alone_symbol(task->symbol());
    return;
  }
  task->set_alone_symbol(absl::StrCat(task->symbol(), "_alone"));
  emit(task->alone_symbol(), /*parallel=*/false);
  if (!op.isSparse()) SetScatters(state, op, task);
}

void SetCost(ir::RangeTaskOp op, uint32_t cells, proto::Task* task) {
  const uint32_t cost = op.getCost() * cells;
  task->set_cost(cost);
  if (op.getInits().empty()) return;
  // Where the cost cannot be estimated, each iteration may be long enough for a piece.
  const bool known = IsCostKnown(op.getBody());
  task->set_grain(known ? std::max<uint64_t>(kGrainNanoseconds / std::max(cost, 1u), 1) : 1);
}

llvm::SmallVector<Value*, 4> InitialValues(FunctionEmitter& f, ir::RangeTaskOp op) {
  llvm::SmallVector<Value*, 4> values;
  for (mlir::Attribute init : op.getInits()) {
    values.push_back(LlvmConstant(init, f.builder().getContext()));
  }
  return values;
}

void EndIfEmpty(FunctionEmitter& f, Value* begin, Value* end, const char* name) {
  llvm::IRBuilder<>& b = f.builder();
  llvm::BasicBlock* some = f.NewBlock(name);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), some, f.return_block());
  b.SetInsertPoint(some);
}

void FlushDenormals(FunctionEmitter& f, Value* is_long) {
  constexpr uint32_t kFlushResults = 0x8000, kFlushOperands = 0x40;
  llvm::IRBuilder<>& b = f.builder();
  // 0: the mode is the caller's. No mode is 0, since its exceptions are masked.
  Value* before = f.Alloca(b.getInt32Ty(), 1);
  Value* mode = f.Alloca(b.getInt32Ty(), 1);
  llvm::BasicBlock* flush = f.NewBlock("flush");
  llvm::BasicBlock* after = f.NewBlock("flushed");
  b.CreateStore(b.getInt32(0), before);
  b.CreateCondBr(is_long, flush, after);
  b.SetInsertPoint(flush);
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {before});
  Value* kept = b.CreateLoad(b.getInt32Ty(), before);
  b.CreateStore(b.CreateOr(kept, kFlushResults | kFlushOperands), mode);
  b.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {mode});
  b.CreateBr(after);
  b.SetInsertPoint(after);

  llvm::IRBuilder<> end(f.return_block()->getTerminator());
  Value* flushes = end.CreateIsNotNull(end.CreateLoad(b.getInt32Ty(), before));
  llvm::IRBuilder<> restore(
      llvm::SplitBlockAndInsertIfThen(flushes, &*end.GetInsertPoint(), /*Unreachable=*/false));
  restore.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {before});
}

// A piece has a slot for each accumulator. Pieces run in any order, so each has its own slots.
void StorePartials(FunctionEmitter& f, Value* piece, llvm::ArrayRef<Value*> values) {
  llvm::IRBuilder<>& b = f.builder();
  for (size_t i = 0; i < values.size(); ++i) {
    Value* value = values[i];
    if (value->getType()->isIntegerTy(1)) value = b.CreateZExt(value, b.getInt8Ty());
    b.CreateStore(value, PartialAt(f, piece, values.size(), i));
  }
}

void EmitFinish(KernelState* state, ir::RangeTaskOp op, proto::Task* task) {
  mlir::Block& block = op.getFinish().front();
  const size_t count = block.getNumArguments();
  if (count == 0) return;
  task->set_finish_symbol(absl::StrCat(task->symbol(), "_finish"));
  task->set_partial_bytes(static_cast<uint32_t>(abi::kSlotBytes * count));
  llvm::Function* function = NewTaskFunction(state->module, task->finish_symbol());
  FunctionEmitter f(state, function, /*parallel=*/true);
  f.trees().set_effects(TreeEffectsOf(op.getFinish(), state->kernel, state->functions));
  llvm::IRBuilder<>& b = f.builder();
  llvm::BasicBlock* header = f.NewBlock("pieces");
  llvm::BasicBlock* body = f.NewBlock("piece");
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* piece = b.CreatePHI(b.getInt64Ty(), 2);
  piece->addIncoming(function->getArg(1), before);
  b.CreateCondBr(b.CreateICmpSLT(piece, function->getArg(2)), body, f.return_block());
  b.SetInsertPoint(body);
  // What is known of cells in one piece does not hold in the next.
  f.trees().PushScope();
  for (size_t i = 0; i < count; ++i) {
    mlir::Value argument = block.getArgument(i);
    Value* value =
        b.CreateLoad(MemoryType(argument.getType(), b.getContext()), PartialAt(f, piece, count, i));
    if (argument.getType().isInteger(1)) value = b.CreateIsNotNull(value);
    f.Map(argument, value);
  }
  f.EmitBlock(block);
  f.trees().PopScope();
  piece->addIncoming(b.CreateNSWAdd(piece, b.getInt64(1)), b.GetInsertBlock());
  b.CreateBr(header);
}

}  // namespace kiln::cpu
