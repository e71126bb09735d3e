#include "server/compiler/codegen/cuda/range_task.h"

#include <utility>
#include <vector>

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/dimensions.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr uint32_t kBlock = 128;  // threads of a block, unless the program says otherwise
// Threads of a task with accumulators: each ends with an atomic for each of them.
constexpr uint32_t kMostAccumulating = 1 << 16;

Value* Special(llvm::IRBuilderBase& b, llvm::Intrinsic::ID which) {
  return b.CreateZExt(b.CreateIntrinsic(which, {}, {}), b.getInt64Ty());
}

Value* EmitThreads(llvm::IRBuilderBase& b) {
  return b.CreateMul(Special(b, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x),
                     Special(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x));
}

// The code of a range task: the iterations first, first + threads, ... of the linear space.
class RangeEmitter {
 public:
  RangeEmitter(FunctionEmitter& f, ir::RangeTaskOp task, std::vector<Dimension> dimensions)
      : f_(f), b_(f.builder()), task_(task), dimensions_(std::move(dimensions)) {}

  // The number of iterations.
  Value* Total();
  void Emit(Value* total);

 private:
  void MapIndices(Value* number);
  Value* Narrow(Value* number, unsigned bits);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  std::vector<Dimension> dimensions_;
  unsigned bits_ = 64;  // that hold each number of an iteration
};

Value* RangeEmitter::Total() {
  Value* total = b_.getInt64(1);
  for (const Dimension& d : dimensions_) total = b_.CreateMul(total, d.extent);
  // Divisions of 64 bits are functions of a hundred instructions.
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(total);
  if (constant != nullptr && constant->getValue().isIntN(31)) bits_ = 32;
  return total;
}

Value* RangeEmitter::Narrow(Value* number, unsigned bits) {
  return b_.CreateTrunc(number, b_.getIntNTy(bits));
}

// From the innermost dimension, which runs fastest, outwards.
void RangeEmitter::MapIndices(Value* number) {
  Value* rest = Narrow(number, bits_);
  for (size_t d = dimensions_.size(); d-- > 0;) {
    const Dimension& dimension = dimensions_[d];
    Value* extent = Narrow(dimension.extent, bits_);
    // The outermost index is what is left, so it needs no division.
    Value* index = d == 0 ? rest : b_.CreateURem(rest, extent);
    if (d > 0) rest = b_.CreateUDiv(rest, extent);
    index = b_.CreateNSWAdd(b_.CreateZExt(index, b_.getInt64Ty()), dimension.lower);
    const mlir::Value argument = task_.getIndices()[d];
    f_.Map(argument, b_.CreateTrunc(index, LlvmType(argument.getType(), b_.getContext())));
    f_.indices().Define(argument, IndexBetween(index, dimension.lower, dimension.upper));
  }
}

void RangeEmitter::Emit(Value* total) {
  Value* first = EmitThreadNumber(b_);
  Value* threads = EmitThreads(b_);
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* header = f_.NewBlock("iterations");
  BasicBlock* body = f_.NewBlock("iteration");
  BasicBlock* next = f_.NewBlock("next");
  BasicBlock* exit = f_.NewBlock("iterations_end");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* number = b_.CreatePHI(b_.getInt64Ty(), 2);
  number->addIncoming(first, before);
  const mlir::TypeRange types = mlir::ValueRange(task_.getAccumulators()).getTypes();
  auto accumulators = f_.Phis(header, types);
  for (auto [phi, init] : llvm::zip(accumulators, task_.getInits())) {
    phi->addIncoming(LlvmConstant(init, b_.getContext()), before);
  }
  b_.CreateCondBr(b_.CreateICmpSLT(number, total), body, exit);

  b_.SetInsertPoint(body);
  MapIndices(number);
  f_.StartRandom(number);
  for (auto [argument, phi] : llvm::zip(task_.getAccumulators(), accumulators)) {
    f_.Map(argument, phi);
  }
  auto next_values = f_.Phis(next, types);
  f_.PushLoop({next, next_values, nullptr, {}});
  f_.EmitBlock(task_.getBody().front());
  f_.PopLoop();

  b_.SetInsertPoint(next);
  number->addIncoming(b_.CreateNSWAdd(number, threads), next);
  for (auto [phi, value] : llvm::zip(accumulators, next_values)) phi->addIncoming(value, next);
  b_.CreateBr(header);

  // The finish takes in what the thread has accumulated, by atomics. A thread without iterations
  // has nothing but the identities.
  b_.SetInsertPoint(exit);
  if (accumulators.empty()) return f_.Finish();
  BasicBlock* some = f_.NewBlock("some");
  b_.CreateCondBr(b_.CreateICmpSLT(first, total), some, f_.return_block());
  b_.SetInsertPoint(some);
  mlir::Block& finish = task_.getFinish().front();
  for (auto [argument, phi] : llvm::zip(finish.getArguments(), accumulators)) f_.Map(argument, phi);
  f_.EmitBlock(finish);
  f_.Finish();
}

}  // namespace

Value* EmitThreadNumber(llvm::IRBuilderBase& b) {
  Value* block = Special(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  Value* size = Special(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  return b.CreateAdd(b.CreateMul(block, size),
                     Special(b, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
}

void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  task->set_kind(proto::TASK_RANGE);
  task->set_block_dim(op.getBlockDim() > 0 ? op.getBlockDim() : kBlock);
  // Other limits are those of CPU threads.
  const bool serial = op.getMaxThreads() == 1;
  if (serial || !op.getInits().empty()) task->set_max_threads(serial ? 1 : kMostAccumulating);
  llvm::Function* function = state->target->NewTaskFunction(state, task->symbol());
  // A loop of one thread needs no atomics.
  FunctionEmitter f(state, function, /*parallel=*/!serial);
  f.DrawFor(number, op.getBody());
  RangeEmitter emitter(f, op, EmitDimensions(f, op));
  Value* total = emitter.Total();
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(total)) {
    task->set_constant_bounds(true);
    task->set_end(constant->getSExtValue());
  }
  emitter.Emit(total);
}

}  // namespace kiln::cuda
