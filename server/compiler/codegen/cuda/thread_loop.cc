#include "server/compiler/codegen/cuda/thread_loop.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/cuda/block_reduce.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr uint32_t kBlock = 128;  // threads of a block, unless the program says otherwise
// Threads of a task with accumulators, some of which end with an atomic for each of them.
constexpr uint32_t kMostAccumulating = 1 << 16;

uint32_t BlockOf(ir::RangeTaskOp op) { return op.getBlockDim() > 0 ? op.getBlockDim() : kBlock; }

Value* EmitThreads(llvm::IRBuilderBase& b) {
  return b.CreateMul(EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x),
                     EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x));
}

}  // namespace

Value* EmitSpecial(llvm::IRBuilderBase& b, llvm::Intrinsic::ID which) {
  return b.CreateZExt(b.CreateIntrinsic(which, {}, {}), b.getInt64Ty());
}

Value* EmitThreadNumber(llvm::IRBuilderBase& b) {
  Value* block = EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  Value* size = EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  return b.CreateAdd(b.CreateMul(block, size),
                     EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
}

bool IsParallel(ir::RangeTaskOp op) { return op.getMaxThreads() != 1; }

void SetThreads(ir::RangeTaskOp op, proto::Task* task) {
  task->set_block_dim(BlockOf(op));
  // Other limits are those of CPU threads.
  if (!IsParallel(op)) {
    task->set_max_threads(1);
  } else if (!op.getInits().empty()) {
    task->set_max_threads(kMostAccumulating);
  }
}

void EmitThreadLoop(FunctionEmitter& f, ir::RangeTaskOp task, Value* total,
                    llvm::function_ref<void(Value* iteration, const SkipUnless& skip_unless)> map) {
  llvm::IRBuilder<>& b = f.builder();
  Value* first = EmitThreadNumber(b);
  Value* threads = EmitThreads(b);
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock* header = f.NewBlock("iterations");
  BasicBlock* body = f.NewBlock("iteration");
  BasicBlock* next = f.NewBlock("next");
  BasicBlock* exit = f.NewBlock("iterations_end");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* number = b.CreatePHI(b.getInt64Ty(), 2);
  number->addIncoming(first, before);
  const mlir::TypeRange types = mlir::ValueRange(task.getAccumulators()).getTypes();
  auto accumulators = f.Phis(header, types);
  for (auto [phi, init] : llvm::zip(accumulators, task.getInits())) {
    phi->addIncoming(LlvmConstant(init, b.getContext()), before);
  }
  b.CreateCondBr(b.CreateICmpSLT(number, total), body, exit);

  b.SetInsertPoint(body);
  f.trees().PushScope();
  auto next_values = f.Phis(next, types);
  const auto skip_unless = [&](Value* condition) {
    BasicBlock* active = f.NewBlock("active");
    for (auto [phi, value] : llvm::zip(next_values, accumulators)) {
      phi->addIncoming(value, b.GetInsertBlock());
    }
    b.CreateCondBr(condition, active, next);
    b.SetInsertPoint(active);
  };
  map(number, skip_unless);
  for (auto [argument, phi] : llvm::zip(task.getAccumulators(), accumulators)) {
    f.Map(argument, phi);
  }
  f.PushLoop({next, next_values, nullptr, {}});
  f.EmitBlock(task.getBody().front());
  f.PopLoop();
  f.trees().PopScope();

  b.SetInsertPoint(next);
  number->addIncoming(b.CreateNSWAdd(number, threads), next);
  for (auto [phi, value] : llvm::zip(accumulators, next_values)) phi->addIncoming(value, next);
  b.CreateBr(header);

  // The finish takes in by atomics what a block has accumulated or, where threads may have left
  // early and a barrier would wait for them, what a thread has. A thread without iterations, or a
  // block whose first thread has none, has nothing but the identities.
  b.SetInsertPoint(exit);
  if (accumulators.empty()) return f.Finish();
  llvm::SmallVector<Value*, 4> totals(accumulators.begin(), accumulators.end());
  // Where the program's own threads wait for each other, those that have left the loop must not
  // wait here for those that have not.
  const auto kinds = WorksTogether(f.state().kernel, task) ? std::nullopt : CombiningKinds(task);
  if (kinds && IsParallel(task) && BlockOf(task) % kWarp == 0 &&
      llvm::pred_empty(f.return_block())) {
    totals = EmitBlockReduction(f, task, *kinds, accumulators);
  }
  BasicBlock* some = f.NewBlock("some");
  b.CreateCondBr(b.CreateICmpSLT(first, total), some, f.return_block());
  b.SetInsertPoint(some);
  f.trees().set_effects(TreeEffectsOf(task.getFinish(), f.state().kernel, f.state().functions));
  mlir::Block& finish = task.getFinish().front();
  for (auto [argument, value] : llvm::zip(finish.getArguments(), totals)) f.Map(argument, value);
  f.EmitBlock(finish);
  f.Finish();
}

}  // namespace kiln::cuda
