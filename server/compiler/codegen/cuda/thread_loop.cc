#include "server/compiler/codegen/cuda/thread_loop.h"

#include <algorithm>

#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cuda/block_reduce.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// The most blocks of a loop as a multiple of those that run at once. A multiprocessor begins a
// block in some 80 ns, in which 128 threads copy less than it could; more than one wave evens out
// blocks that take longer than others.
constexpr uint32_t kWaves = 16;

Value* EmitThreads(llvm::IRBuilderBase& b) {
  return b.CreateMul(EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x),
                     EmitSpecial(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x));
}

// How the threads of a block combine what they accumulate; nothing if each goes by itself.
std::optional<llvm::SmallVector<ir::AtomicKind, 4>> BlockKinds(const KernelState& state,
                                                               ir::RangeTaskOp task) {
  // Where the program's own threads wait for each other, those that have left the loop must not
  // wait here for those that have not.
  if (!IsParallel(task) || WorksTogether(state.kernel, task)) return std::nullopt;
  return CombiningKinds(task);
}

// Whether blocks are combined in their order.
bool InOrderOfBlocks(const KernelState& state, ir::RangeTaskOp task) {
  if (!state.deterministic || task.getInits().empty()) return false;
  const auto kinds = BlockKinds(state, task);
  return kinds && DependsOnOrder(*kinds);
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

uint32_t BlockOf(ir::RangeTaskOp op) {
  return op.getBlockDim() > 0 ? std::min<uint32_t>(op.getBlockDim(), kMostOfBlock) : kUsualBlock;
}

bool IsParallel(ir::RangeTaskOp op) { return op.getMaxThreads() != 1; }

void SetThreads(const KernelState& state, ir::RangeTaskOp op, proto::Task* task) {
  task->set_block_dim(BlockOf(op));
  // Other limits are those of CPU threads.
  if (!IsParallel(op)) task->set_max_threads(1);
  // Accumulators end with an atomic of each block, or even of each thread. Threads that work
  // together may rely on being in one round of the loop.
  const bool together = WorksTogether(op->getParentOfType<ir::KernelOp>(), op);
  task->set_waves(!op.getInits().empty() ? 1 : together ? 0 : kWaves);
  if (!InOrderOfBlocks(state, op)) return;
  // As many blocks as the loop's length asks for, whatever the device.
  task->set_waves(0);
  task->set_max_threads(kGridReductionBlocks * task->block_dim());
}

ThreadLoop::ThreadLoop(FunctionEmitter& f, ir::RangeTaskOp task)
    : f_(f),
      b_(f.builder()),
      task_(task),
      first_(IsParallel(task) ? EmitThreadNumber(b_) : b_.getInt64(0)),
      threads_(IsParallel(task) ? EmitThreads(b_) : b_.getInt64(1)),
      some_(b_.getFalse()) {
  for (mlir::Attribute init : task.getInits()) {
    values_.push_back(LlvmConstant(init, b_.getContext()));
  }
}

// Returns what the iteration makes of the accumulators.
ThreadLoop::Values ThreadLoop::EmitIteration(const Values& before,
                                             llvm::function_ref<void(const SkipUnless&)> map) {
  BasicBlock* next = f_.NewBlock("next");
  f_.trees().PushScope();
  auto next_values = f_.Phis(next, mlir::ValueRange(task_.getAccumulators()).getTypes());
  map([&](Value* condition) {
    BasicBlock* active = f_.NewBlock("active");
    for (auto [phi, value] : llvm::zip(next_values, before)) {
      phi->addIncoming(value, b_.GetInsertBlock());
    }
    b_.CreateCondBr(condition, active, next);
    b_.SetInsertPoint(active);
  });
  for (auto [argument, value] : llvm::zip(task_.getAccumulators(), before)) f_.Map(argument, value);
  f_.PushLoop({next, next_values, nullptr, {}});
  f_.EmitBlock(task_.getBody().front());
  f_.PopLoop();
  f_.trees().PopScope();
  b_.SetInsertPoint(next);
  return Values(next_values.begin(), next_values.end());
}

// A loop over first, first + step, ... below `end`. `body` is given the accumulators' values and
// returns what it makes of them; returns what the loop makes of them.
ThreadLoop::Values ThreadLoop::EmitLoop(Value* first, Value* end, Value* step, const Values& before,
                                        Body body) {
  CountedLoop loop(f_, {"iterations", "iteration", nullptr, "iterations_end"}, first, end,
                   mlir::ValueRange(task_.getAccumulators()).getTypes(), before, step);
  loop.End(body(loop.index(), loop.values()));
  return loop.values();
}

ThreadLoop::Values ThreadLoop::EmitChunk(Value* number, int64_t length, Values values, Map map,
                                         Emitted emitted) {
  for (int64_t within = 0; within < length; ++within) {
    values = EmitIteration(
        values, [&](const SkipUnless& skip_unless) { map(number, within, skip_unless); });
    emitted(within);
  }
  return values;
}

void ThreadLoop::Emit(Value* total, int64_t length, Map map, Emitted emitted) {
  some_ = b_.CreateOr(some_, b_.CreateICmpSLT(first_, total));
  values_ = EmitLoop(first_, total, threads_, values_, [&](Value* number, const Values& values) {
    return EmitChunk(number, length, values, map, emitted);
  });
}

void ThreadLoop::Emit(Value* total, int64_t length, Begin begin, Map map, Emitted emitted) {
  some_ = b_.CreateOr(some_, b_.CreateICmpSLT(first_, total));
  values_ = EmitLoop(first_, total, threads_, values_, [&](Value* number, const Values& values) {
    Value* runs = begin(number);
    BasicBlock* chunk = f_.NewBlock("chunk");
    BasicBlock* end = f_.NewBlock("chunk_end");
    auto phis = f_.Phis(end, mlir::ValueRange(task_.getAccumulators()).getTypes());
    for (auto [phi, value] : llvm::zip(phis, values)) phi->addIncoming(value, b_.GetInsertBlock());
    b_.CreateCondBr(runs, chunk, end);
    b_.SetInsertPoint(chunk);
    f_.BranchTo(end, phis, EmitChunk(number, length, values, map, emitted));
    b_.SetInsertPoint(end);
    return Values(phis.begin(), phis.end());
  });
}

void ThreadLoop::EmitUneven(Value* total, llvm::function_ref<Value*(Value* number)> begin,
                            llvm::function_ref<void(Value* within)> map) {
  some_ = b_.CreateOr(some_, b_.CreateICmpSLT(first_, total));
  values_ = EmitLoop(first_, total, threads_, values_, [&](Value* number, const Values& values) {
    Value* length = begin(number);
    return EmitLoop(b_.getInt64(0), length, b_.getInt64(1), values,
                    [&](Value* within, const Values& inner) {
                      return EmitIteration(inner, [&](const SkipUnless&) { map(within); });
                    });
  });
}

void ThreadLoop::Finish() {
  // The finish takes in by atomics what a block has accumulated or, where threads may have left
  // early and a barrier would wait for them, what a thread has. A thread without iterations, or a
  // block whose first thread has none, has nothing but the identities.
  if (values_.empty()) return f_.Finish();
  const bool whole_blocks = BlockOf(task_) % kWarp == 0 && llvm::pred_empty(f_.return_block());
  if (const auto kinds = BlockKinds(f_.state(), task_); kinds && whole_blocks) {
    if (InOrderOfBlocks(f_.state(), task_)) {
      values_ = EmitGridReduction(f_, task_, *kinds, values_);
      some_ = b_.getTrue();
    } else {
      values_ = EmitBlockReduction(f_, task_, *kinds, values_, f_.return_block());
    }
  }
  BasicBlock* some = f_.NewBlock("some");
  b_.CreateCondBr(some_, some, f_.return_block());
  b_.SetInsertPoint(some);
  f_.trees().set_effects(TreeEffectsOf(task_.getFinish(), f_.state().kernel, f_.state().functions));
  mlir::Block& finish = task_.getFinish().front();
  for (auto [argument, value] : llvm::zip(finish.getArguments(), values_)) f_.Map(argument, value);
  f_.EmitBlock(finish);
  f_.Finish();
}

}  // namespace kiln::cuda
