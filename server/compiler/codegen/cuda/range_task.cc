#include "server/compiler/codegen/cuda/range_task.h"

#include <utility>
#include <vector>

#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/codegen/dimensions.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

using llvm::Value;

// The code of a range task: the iterations first, first + threads, ... of the linear space.
class RangeEmitter {
 public:
  RangeEmitter(FunctionEmitter& f, ir::RangeTaskOp task, std::vector<Dimension> dimensions)
      : f_(f), b_(f.builder()), task_(task), dimensions_(std::move(dimensions)) {}

  // The number of iterations.
  Value* Total();
  void MapIndices(Value* number);

 private:
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

}  // namespace

void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  task->set_kind(proto::TASK_RANGE);
  SetThreads(op, task);
  llvm::Function* function = state->target->NewTaskFunction(state, task->symbol());
  FunctionEmitter f(state, function, IsParallel(op));
  f.DrawFor(number, op.getBody());
  f.trees().set_effects(TreeEffectsOf(op.getBody(), state->kernel, state->functions));
  RangeEmitter emitter(f, op, EmitDimensions(f, op));
  Value* total = emitter.Total();
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(total)) {
    task->set_constant_bounds(true);
    task->set_end(constant->getSExtValue());
  }
  EmitThreadLoop(f, op, total, [&](Value* iteration, const SkipUnless&) {
    emitter.MapIndices(iteration);
    f.StartRandom(iteration);
  });
}

}  // namespace kiln::cuda
