#include "server/compiler/codegen/cpu/range_task.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/compiler/codegen/cpu/range_emitter.h"
#include "server/compiler/codegen/cpu/range_form.h"
#include "server/compiler/codegen/cpu/task_function.h"
#include "server/compiler/codegen/cpu/vectorise.h"
#include "server/compiler/codegen/dimensions.h"
#include "server/compiler/codegen/lane_emitter.h"

namespace kiln::cpu {
namespace {

using llvm::Value;

// The iterations of the linear space, and how many cells each has.
std::pair<Value*, int64_t> IterationSpace(llvm::IRBuilder<>& b,
                                          const std::vector<Dimension>& dimensions) {
  Value* total = b.getInt64(1);
  int64_t cells = 1;
  const size_t outer = dimensions.size() - FoldedDimensions(dimensions);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (d < outer) {
      total = b.CreateMul(total, dimensions[d].extent);
    } else {
      cells *= llvm::cast<llvm::ConstantInt>(dimensions[d].extent)->getSExtValue();
    }
  }
  return {total, cells};
}

// The number of iterations, for the runtime; constant bounds need no function.
void EmitBounds(KernelState* state, ir::RangeTaskOp op, proto::Task* task) {
  const std::string name = absl::StrCat(task->symbol(), "_bounds");
  // Emitted even for constant bounds, because only the emitter folds them; then it is removed.
  llvm::Function* function = NewBoundsFunction(state->module, name);
  FunctionEmitter f(state, function, /*parallel=*/false);
  llvm::IRBuilder<>& b = f.builder();
  const std::vector<Dimension> dimensions = EmitDimensions(f, op);
  const auto [total, cells] = IterationSpace(b, dimensions);
  SetCost(op, static_cast<uint32_t>(cells), task);
  // Pieces of a few vectors at least: the last one of each may lack most lanes.
  constexpr int64_t kVectors = 8;
  const auto least = static_cast<uint64_t>(kVectors * LanesOf(state, op, dimensions));
  if (task->grain() > 0) task->set_grain(std::max<uint64_t>(task->grain(), least));
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(total)) {
    function->eraseFromParent();
    task->set_constant_bounds(true);
    task->set_end(constant->getSExtValue());
    return;
  }
  Value* out = function->getArg(1);
  b.CreateStore(b.getInt64(0), out);
  b.CreateStore(total, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), out, 1));
  f.Finish();
  task->set_bounds_symbol(name);
}

// Whether the loop takes long enough to flush denormal numbers: by its size and code alone, so that
// results are the same in each run.
Value* IsLong(llvm::IRBuilder<>& b, ir::RangeTaskOp op, const std::vector<Dimension>& dimensions) {
  constexpr int64_t kNanoseconds = 2000;
  Value* total = b.getInt64(1);
  for (const Dimension& d : dimensions) total = b.CreateMul(total, d.extent);
  const int64_t least = kNanoseconds / std::max<int64_t>(op.getCost(), 1);
  return b.CreateICmpSGE(total, b.getInt64(least));
}

// The function of a range task. `parallel`: others may run atomics at the same time.
void EmitRangeFunction(KernelState* state, ir::RangeTaskOp op, int number, const std::string& name,
                       bool parallel) {
  llvm::Function* function = NewTaskFunction(state->module, name);
  FunctionEmitter f(state, function, parallel);
  f.DrawFor(number, op.getBody());
  AskAtAtomics(op, &f);
  if (ScattersNumbers(op)) f.set_keeps_updates_apart();
  f.trees().set_effects(TreeEffectsOf(op.getBody(), state->kernel, state->functions));
  std::vector<Dimension> dimensions = EmitDimensions(f, op);
  if (state->kernel.getFastMath() && ComputesFloats(op.getBody())) {
    FlushDenormals(f, IsLong(f.builder(), op, dimensions));
  }
  const int64_t lanes = LanesOf(state, op, dimensions);
  std::optional<LaneEmitter> lane_emitter;
  if (lanes > 0) lane_emitter.emplace(f, op, lanes);
  if (lanes > LaneEmitter::Many(state->target->lanes())) function->addFnAttr(codegen::kManyLanes);
  RangeEmitter emitter(f, op, std::move(dimensions));
  if (lane_emitter) emitter.set_lanes(&*lane_emitter);
  emitter.set_step(StepOf(op, lanes));
  const bool by_masks = state->target->lanes().has_masks && StoresByMasks(op);
  if (by_masks) function->addFnAttr(codegen::kMaskedStores);
  emitter.set_vectorise(VectoriseOf(op, by_masks));
  emitter.set_independent(lanes == 0 && AreIndependent(op));
  emitter.set_split(SplitOf(op));
  emitter.set_stream(StreamOf(op));
  if (emitter.HasRaggedRows()) function->addFnAttr(codegen::kRaggedRows);
  emitter.Emit(function->getArg(1), function->getArg(2), function->getArg(3));
  f.Finish();
}

}  // namespace

void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  task->set_kind(proto::TASK_RANGE);
  task->set_max_threads(op.getMaxThreads());
  task->set_block_dim(op.getBlockDim());
  EmitVariants(state, op, task, [&](const std::string& name, bool parallel) {
    EmitRangeFunction(state, op, number, name, parallel);
  });
  EmitBounds(state, op, task);
  EmitFinish(state, op, task);
}

}  // namespace kiln::cpu
