#include "server/compiler/codegen/emit_kernel.h"

#include "absl/strings/str_cat.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln {
namespace {

// Runs as one iteration on one thread, the same on all targets: so there is no parallel form, and
// its stream of random numbers is that of iteration 0.
void EmitSerialTask(KernelState* state, ir::SerialTaskOp op, int number, proto::Task* task) {
  task->set_kind(proto::TASK_SERIAL);
  task->set_constant_bounds(true);
  task->set_end(1);
  task->set_max_threads(1);
  llvm::Function* function = state->target->NewTaskFunction(state, task->symbol());
  FunctionEmitter f(state, function, /*parallel=*/false);
  f.DrawFor(number, op.getBody());
  f.StartRandom(f.builder().getInt64(0));
  f.trees().set_effects(TreeEffectsOf(op.getBody(), state->kernel, state->functions));
  f.EmitBlock(op.getBody().front());
}

// Emits the kernel's tasks one after the other, and lists them as the artifact does.
class TaskEmitter {
 public:
  explicit TaskEmitter(KernelState* state) : state_(*state) {}

  void Emit(mlir::Operation& op);
  // To be called after the last one.
  void End() { EndGroup(); }
  std::vector<proto::Task>& tasks() { return tasks_; }

 private:
  proto::Task EmitCode(mlir::Operation& op);
  void EndGroup();

  KernelState& state_;
  std::vector<proto::Task> tasks_;
  int number_ = 0;    // of the kernel's own tasks: random numbers follow from it
  size_t group_ = 0;  // so many tasks at the end of tasks_ may be joined
};

// A task without code of the kernel's: the runtime does it.
template <typename Op>
proto::Task RuntimeTask(proto::TaskKind kind, Op op) {
  proto::Task task;
  task.set_kind(kind);
  task.set_tree(op.getTree());
  task.set_node(op.getNode());
  return task;
}

proto::Task TaskEmitter::EmitCode(mlir::Operation& op) {
  proto::Task task;
  // The number counts the runtime's tasks, too; `number_` must not, because a reused list would
  // change the random numbers of all later tasks.
  task.set_symbol(absl::StrCat("task_", tasks_.size()));
  ++number_;
  if (auto serial = llvm::dyn_cast<ir::SerialTaskOp>(op)) {
    EmitSerialTask(&state_, serial, number_, &task);
  } else if (auto range = llvm::dyn_cast<ir::RangeTaskOp>(op); range && range.isSparse()) {
    state_.target->EmitStructTask(&state_, range, number_, &task);
  } else if (range) {
    state_.target->EmitRangeTask(&state_, range, number_, &task);
  } else {
    state_.unsupported = op.getName().getStringRef().str();
  }
  task.set_recurses(Recurses(state_.kernel, &op));
  return task;
}

// Joins the last tasks, if there are several.
void TaskEmitter::EndGroup() {
  if (group_ > 1) {
    llvm::SmallVector<proto::Task*> group;
    for (size_t i = tasks_.size() - group_; i < tasks_.size(); ++i) group.push_back(&tasks_[i]);
    state_.target->EmitJoined(&state_, group);
  }
  group_ = 0;
}

void TaskEmitter::Emit(mlir::Operation& op) {
  const bool joins = state_.target->Joins(state_, op);
  if (!joins) EndGroup();
  state_.part = static_cast<uint32_t>(group_);
  if (joins) ++group_;
  if (auto listgen = llvm::dyn_cast<ir::ListgenTaskOp>(op)) {
    tasks_.push_back(RuntimeTask(proto::TASK_LISTGEN, listgen));
    tasks_.back().set_slices(listgen.getSlices());
  } else if (auto gc = llvm::dyn_cast<ir::GcTaskOp>(op)) {
    tasks_.push_back(RuntimeTask(proto::TASK_GC, gc));
  } else {
    tasks_.push_back(EmitCode(op));
  }
}

}  // namespace

absl::StatusOr<EmittedKernel> EmitKernel(mlir::Operation* kernel_op, const codegen::Target& target,
                                         llvm::LLVMContext& context) {
  auto kernel = llvm::cast<ir::KernelOp>(kernel_op);
  EmittedKernel result;
  result.module = std::make_unique<llvm::Module>("kernel", context);
  result.module->setDataLayout(target.data_layout());
  result.module->setTargetTriple(target.triple());
  KernelState state(kernel, result.module.get(), &target);
  TaskEmitter tasks(&state);
  for (mlir::Operation& task : kernel.getBody().front().without_terminator()) {
    // Functions are emitted when a task first calls them, in the form (parallel or not) that it
    // needs.
    if (llvm::isa<ir::FunctionOp>(task)) continue;
    tasks.Emit(task);
    EmitFunctions(&state);
    if (!state.unsupported.empty()) {
      return absl::UnimplementedError(absl::StrCat("no code for '", state.unsupported, "'"));
    }
  }
  tasks.End();
  result.tasks = std::move(tasks.tasks());
  result.has_effects = state.has_effects;
  result.can_fail = state.can_fail;
  result.draws = state.draws;
  result.tapes = state.tapes;
  result.temporary_bytes = state.temporary_bytes;
  return result;
}

}  // namespace kiln
