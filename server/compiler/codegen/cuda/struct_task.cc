#include "server/compiler/codegen/cuda/struct_task.h"

#include <algorithm>

#include "server/compiler/codegen/cuda/abi.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/codegen/struct_element.h"

namespace kiln::cuda {
namespace {

using llvm::Value;

class StructEmitter : private StructElement {
 public:
  StructEmitter(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan)
      : StructElement(f, task, plan) {}

  // The iterations of an element, and the most of all.
  int64_t Iterations() const;
  int64_t MostIterations() const;
  void Emit();

 private:
  void MapCell(Value* digit);
  void MapSlice(Value* element, Value* digit, const SkipUnless& skip_unless);
  void Define(const TreeWalker::Coordinates& index, Value* iteration);

  Value* number_ = nullptr;  // of the iteration
};

int64_t StructEmitter::Iterations() const {
  if (plan_.slices) {
    const int64_t cells = Node().getFacts().is_list
                              ? std::min<int64_t>(Node().getChunk(), Node().getNumCells())
                              : Node().getNumCells();
    return std::min<int64_t>(cells, KILN_CUDA_SLICE);
  }
  int64_t cells = 1;
  for (const StructPlan::Dimension& d : plan_.dimensions) cells *= d.extent;
  return cells;
}

// All cells that there may be, and for each container those that a slice and a chunk may lack.
int64_t StructEmitter::MostIterations() const {
  constexpr int64_t kMany = int64_t{1} << 31;  // more threads than that never start
  int64_t cells = 1;
  for (int64_t n : plan_.tree.getPath(plan_.slices ? Node().getParent() : plan_.node)) {
    if (n != 0)
      cells = std::min(cells * std::min(plan_.tree.getNode(n).getNumCells(), kMany), kMany);
  }
  if (!plan_.slices) return std::min(cells * std::min(Iterations(), kMany), kMany);
  const int64_t own = std::min(Node().getNumCells(), kMany);
  // Each slice is counted whole, and each chunk has a slice that may be partial.
  const int64_t slices = own / Iterations() + 1;
  return std::min(cells * std::min(2 * slices * Iterations(), kMany), kMany);
}

// States the body's indices.
void StructEmitter::Define(const TreeWalker::Coordinates& index, Value* iteration) {
  for (int i = 0; i < task_.getNumDims(); ++i) {
    const mlir::Value argument = task_.getIndices()[i];
    const int64_t axis = plan_.field.getAxis(i);
    // A field without levels along an axis has one index there, 0.
    const Affine value = axis < 0 ? Affine() : index[axis];
    f_.Map(argument,
           b_.CreateTrunc(EmitAffine(b_, value), LlvmType(argument.getType(), b_.getContext())));
    f_.indices().Define(argument, value);
  }
  if (f_.draws()) f_.StartRandom(Number(index));
  // Prints come in the list's order, as on one thread of a CPU.
  f_.set_iteration(iteration);
}

// Cell `digit` of the block below an element's cell: of the dense levels, outermost first.
void StructEmitter::MapCell(Value* digit) {
  f_.trees().Know(plan_.field.getTree(), plan_.node, at_, cell_);
  TreeWalker::Coordinates index(at_.size());
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    index[axis].Add(at_[axis], plan_.tree.getAxisExtent(plan_.field.getNode(), axis) /
                                   plan_.tree.getAxisExtent(plan_.node, axis));
  }
  Affine rest = Leaf(digit, 0, Iterations() - 1);
  for (size_t d = plan_.dimensions.size(); d-- > 0;) {
    const StructPlan::Dimension& dimension = plan_.dimensions[d];
    Affine own = rest;
    if (d > 0) std::tie(rest, own) = DivideAffine(b_, rest, dimension.extent);
    if (own.terms.size() == 1) {
      own.terms[0].low = 0;
      own.terms[0].high = dimension.extent - 1;
    }
    index[dimension.axis].Add(own, dimension.factor);
  }
  Define(index, number_);
}

// Cell `digit` of a slice, if it is active.
void StructEmitter::MapSlice(Value* element, Value* digit, const SkipUnless& skip_unless) {
  llvm::Type* i64 = b_.getInt64Ty();
  Value* begin = b_.CreateZExt(Field(element, abi::kBegin, b_.getInt32Ty()), i64);
  Value* count = b_.CreateZExt(Field(element, abi::kCount, b_.getInt32Ty()), i64);
  skip_unless(b_.CreateICmpULT(digit, count));
  Value* number = b_.CreateNSWAdd(begin, digit);
  Value* own = nullptr;
  TreeWalker::Coordinates index = Digits(number);
  if (Node().getFacts().is_list) {
    own = Cell(digit);
    index[Node().getAxis(0)] = Leaf(number, 0, Node().getNumCells() - 1);
  } else if (Node().getFacts().has_mask) {
    Value* masks = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell_, Node().getMask());
    auto* word = b_.CreateAlignedLoad(
        b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), masks, b_.CreateLShr(number, 5)),
        llvm::Align(4));
    // Other threads of the task may activate cells of the same word.
    word->setAtomic(llvm::AtomicOrdering::Monotonic);
    f_.TagTables(word);
    Value* bit = b_.CreateTrunc(b_.CreateAnd(number, b_.getInt64(31)), b_.getInt32Ty());
    skip_unless(b_.CreateIsNotNull(b_.CreateAnd(b_.CreateLShr(word, bit), b_.getInt32(1))));
    own = Cell(number);
  } else {
    auto* slot = b_.CreateAlignedLoad(
        b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), cell_, number), llvm::Align(8));
    slot->setAtomic(llvm::AtomicOrdering::Monotonic);
    f_.TagTables(slot);
    skip_unless(b_.CreateIsNotNull(slot));
    own = slot;
  }
  f_.trees().Know(plan_.field.getTree(), plan_.node, index, own);
  Define(index, number_);
}

void StructEmitter::Emit() {
  Value* node = f_.trees().NodeState(plan_.field.getTree(), plan_.node);
  const int64_t list = cuda_abi::kLists + (plan_.slices ? cuda_abi::kListBytes : 0);
  Value* elements = f_.EntryLoad(node, list + cuda_abi::kListElements);
  Value* iterations = b_.getInt64(Iterations());
  Value* total =
      b_.CreateNSWMul(Field(node, list + cuda_abi::kListCount, b_.getInt64Ty()), iterations);
  EmitThreadLoop(f_, task_, total, [&](Value* number, const SkipUnless& skip_unless) {
    number_ = number;
    Value* element = b_.CreateInBoundsGEP(
        b_.getInt8Ty(), elements,
        b_.CreateNSWMul(b_.CreateUDiv(number, iterations), b_.getInt64(abi::kElementBytes)));
    Value* digit = b_.CreateURem(number, iterations);
    ReadPlace(element);
    plan_.slices ? MapSlice(element, digit, skip_unless) : MapCell(digit);
  });
}

}  // namespace

void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  const StructPlan plan = PlanOf(op, state->kernel);
  task->set_kind(proto::TASK_STRUCT);
  task->set_tree(plan.field.getTree());
  task->set_node(plan.node);
  task->set_slices(plan.slices);
  SetThreads(op, task);
  llvm::Function* function = state->target->NewTaskFunction(state, task->symbol());
  FunctionEmitter f(state, function, IsParallel(op));
  f.DrawFor(number, op.getBody());
  f.trees().set_effects(
      TreeEffectsOf(op.getBody(), state->kernel, state->functions,
                    [&](const ComponentAccess& access) { return IsOwnCell(plan, op, access); }));
  StructEmitter emitter(f, op, plan);
  task->set_iterations(emitter.Iterations());
  task->set_end(emitter.MostIterations());
  emitter.Emit();
}

}  // namespace kiln::cuda
