#include "server/compiler/codegen/cuda/struct_task.h"

#include <algorithm>

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/cuda/abi.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/codegen/cuda/tiles.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/codegen/struct_element.h"

namespace kiln::cuda {
namespace {

using llvm::Value;
using SkipUnless = ThreadLoop::SkipUnless;

class StructEmitter : private StructElement {
 public:
  StructEmitter(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan)
      : StructElement(f, task, plan) {}

  // The iterations of an element, and the most of all.
  int64_t Iterations() const;
  int64_t MostIterations() const;
  void Emit();
  // Whether a block of threads runs one element at a time.
  bool by_blocks() const { return by_blocks_; }

 private:
  void MapCell(Value* digit);
  void EmitByBlocks(Tiles& tiles, Value* elements, Value* count);
  void MapSlice(Value* element, Value* digit, const SkipUnless& skip_unless);
  void Define(const TreeWalker::Coordinates& index, Value* iteration);

  // By index of the loop, as i64.
  llvm::SmallVector<Value*, 4> ByIndex(const TreeWalker::Coordinates& at);

  bool by_blocks_ = false;
  Value* number_ = nullptr;        // of the iteration
  TreeWalker::Coordinates index_;  // of the cell that MapCell was last at
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
  MapIndices(index);
  if (f_.draws()) f_.StartRandom(Number(index));
  // Prints come in the list's order, as on one thread of a CPU.
  f_.set_iteration(iteration);
}

// Cell `digit` of the block below an element's cell: of the dense levels, outermost first.
void StructEmitter::MapCell(Value* digit) {
  f_.trees().Know(plan_.field.getTree(), plan_.node, at_, cell_);
  TreeWalker::Coordinates index = Origin();
  Affine rest = Leaf(digit, 0, Iterations() - 1);
  for (size_t d = plan_.dimensions.size(); d-- > 0;) {
    const StructPlan::Dimension& dimension = plan_.dimensions[d];
    index[dimension.axis].Add(TakeDigit(&rest, dimension.extent, d == 0), dimension.factor);
  }
  Define(index, number_);
  index_ = index;
}

llvm::SmallVector<Value*, 4> StructEmitter::ByIndex(const TreeWalker::Coordinates& at) {
  llvm::SmallVector<Value*, 4> values;
  for (int i = 0; i < task_.getNumDims(); ++i) {
    const int64_t axis = plan_.field.getAxis(i);
    Value* value = axis < 0 ? b_.getInt64(0) : EmitAffine(b_, at[axis]);
    values.push_back(b_.CreateSExt(value, b_.getInt64Ty()));
  }
  return values;
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

// A block of threads takes elements of the list in turn, and its threads the cells of an element:
// between the two barriers, the tiles are those of one element.
void StructEmitter::EmitByBlocks(Tiles& tiles, Value* elements, Value* count) {
  const auto barrier = [&] { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); };
  llvm::Type* i64 = b_.getInt64Ty();
  Value* first = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  Value* blocks = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  Value* thread = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value* threads = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = f_.NewBlock("elements");
  llvm::BasicBlock* body = f_.NewBlock("element");
  llvm::BasicBlock* cells = f_.NewBlock("cells");
  llvm::BasicBlock* cell = f_.NewBlock("cell");
  llvm::BasicBlock* next = f_.NewBlock("next");
  llvm::BasicBlock* cells_end = f_.NewBlock("cells_end");
  llvm::BasicBlock* exit = f_.NewBlock("elements_end");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* number = b_.CreatePHI(i64, 2);
  number->addIncoming(first, before);
  b_.CreateCondBr(b_.CreateICmpSLT(number, count), body, exit);

  b_.SetInsertPoint(body);
  f_.trees().PushScope();
  ReadPlace(b_.CreateInBoundsGEP(b_.getInt8Ty(), elements,
                                 b_.CreateNSWMul(number, b_.getInt64(abi::kElementBytes))));
  const llvm::SmallVector<Value*, 4> origin = ByIndex(Origin());
  tiles.EmitLoads(origin);
  barrier();
  llvm::BasicBlock* loaded = b_.GetInsertBlock();
  b_.CreateBr(cells);
  b_.SetInsertPoint(cells);
  llvm::PHINode* digit = b_.CreatePHI(i64, 2);
  digit->addIncoming(thread, loaded);
  b_.CreateCondBr(b_.CreateICmpSLT(digit, b_.getInt64(Iterations())), cell, cells_end);

  b_.SetInsertPoint(cell);
  number_ = b_.CreateNSWAdd(b_.CreateNSWMul(number, b_.getInt64(Iterations())), digit);
  MapCell(digit);
  tiles.UseAt(origin, ByIndex(index_));
  f_.PushLoop({next, {}, nullptr, {}});
  f_.EmitBlock(task_.getBody().front());
  f_.PopLoop();
  b_.SetInsertPoint(next);
  digit->addIncoming(b_.CreateNSWAdd(digit, threads), next);
  b_.CreateBr(cells);

  b_.SetInsertPoint(cells_end);
  barrier();
  if (tiles.has_updates()) {
    tiles.EmitUpdates(origin);
    barrier();  // before others clear the tiles
  }
  f_.trees().PopScope();
  number->addIncoming(b_.CreateNSWAdd(number, blocks), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
  f_.Finish();
}

void StructEmitter::Emit() {
  Value* node = f_.trees().NodeState(plan_.field.getTree(), plan_.node);
  const int64_t list = cuda_abi::kLists + (plan_.slices ? cuda_abi::kListBytes : 0);
  Value* elements = f_.EntryLoad(node, list + cuda_abi::kListElements);
  Value* count = Field(node, list + cuda_abi::kListCount, b_.getInt64Ty());
  Tiles tiles(f_, task_, plan_);
  by_blocks_ = !tiles.empty();
  if (by_blocks_) return EmitByBlocks(tiles, elements, count);
  Value* iterations = b_.getInt64(Iterations());
  Value* total = b_.CreateNSWMul(count, iterations);
  ThreadLoop loop(f_, task_);
  loop.Emit(total, 1, [&](Value* number, int64_t, const SkipUnless& skip_unless) {
    number_ = number;
    Value* element = b_.CreateInBoundsGEP(
        b_.getInt8Ty(), elements,
        b_.CreateNSWMul(b_.CreateUDiv(number, iterations), b_.getInt64(abi::kElementBytes)));
    Value* digit = b_.CreateURem(number, iterations);
    ReadPlace(element);
    plan_.slices ? MapSlice(element, digit, skip_unless) : MapCell(digit);
  });
  loop.Finish();
}

}  // namespace

void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  const StructPlan plan = PlanOf(op, state->kernel);
  StateList(plan, task);
  SetThreads(*state, op, task);
  llvm::Function* function = state->target->NewTaskFunction(state, task->symbol());
  FunctionEmitter f(state, function, IsParallel(op));
  f.DrawFor(number, op.getBody());
  SetTreeEffects(op, plan, &f);
  StructEmitter emitter(f, op, plan);
  task->set_iterations(emitter.Iterations());
  task->set_end(emitter.MostIterations());
  emitter.Emit();
  // More threads than an element has cells would only wait.
  if (emitter.by_blocks() && op.getBlockDim() == 0) {
    const auto warps = llvm::divideCeil(static_cast<uint64_t>(emitter.Iterations()), kWarp);
    task->set_block_dim(std::min(task->block_dim(), static_cast<uint32_t>(warps * kWarp)));
  }
}

}  // namespace kiln::cuda
