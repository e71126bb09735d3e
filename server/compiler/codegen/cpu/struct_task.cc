#include "server/compiler/codegen/cpu/struct_task.h"

#include "absl/strings/str_cat.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cpu/abi.h"
#include "server/compiler/codegen/cpu/struct_emitter.h"
#include "server/compiler/codegen/cpu/task_function.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// Rows that get a vector loop.
constexpr int64_t kLongRow = 8;
// Rows up to this length are one loop from end to end, where reads past their ends allow it: the
// ends would be most of their cells.
constexpr int64_t kShortRow = 32;
// The most values past a row's ends that one loop selects.
constexpr int64_t kMostEnds = 16;

}  // namespace

// --- Loops -----------------------------------------------------------------------------

// Decides which loops get code of their own for their ends (ends_): the innermost first, as long as
// all copies of the body together are not too long.
void StructEmitter::Peel() {
  ends_.resize(plan_.dimensions.size());
  // Each peeled end is one more copy of all loops inside, so copies multiply from the inside
  // outwards.
  int64_t ops = CountOps(task_.getBody());
  for (size_t i = plan_.dimensions.size(); i-- > plan_.shared;) {
    const StructPlan::Dimension& d = plan_.dimensions[i];
    const bool alone = llvm::count_if(plan_.dimensions, [&](const StructPlan::Dimension& other) {
                         return other.axis == d.axis;
                       }) == 1;
    const bool last = i + 1 == plan_.dimensions.size();
    // A row that crosses blocks by selection is a candidate only if its index alone is the
    // coordinate.
    if (last && alone && d.factor == 1 && d.extent >= kLongRow && d.extent <= kShortRow) {
      FindAcross(d.axis);
    }
    const auto [before, beyond] = Reach(task_, f_.trees(), plan_, d.axis);
    ops *= before + beyond + 1;
    // Outer dimensions would copy even more, so the first that is too long ends the search.
    if (ops > kMostCopiedOps) return;
    // A dimension with nothing but ends would leave no loop between them.
    if (d.factor == 1 && (alone || last) && before + beyond < d.extent) {
      ends_[i] = {before, beyond};
    }
  }
}

// Finds the reads that leave rows along `axis` (across_): all or, if there are too many or if the
// body may write to what one reads, none.
void StructEmitter::FindAcross(int64_t axis) {
  int64_t ends = 0;
  ForEachReadAlong(task_, f_.trees(), plan_, axis, [&](ir::GlobalOp address, int64_t by) {
    if (by == 0 || ends > kMostEnds) return;
    // A read at distance k takes |k| values of the neighbouring block.
    ends += std::abs(by);
    // The ends are loaded before the row. A store of the row would not be seen by them.
    if (IsWritten(task_.getBody(), f_.trees(), address)) ends = kMostEnds + 1;
    across_.push_back(address);
  });
  if (ends > kMostEnds) across_.clear();
}

// Opens the row if all that the body reads past its ends can be loaded from its block.
bool StructEmitter::OpenRow(const StructPlan::Dimension& d) {
  if (across_.empty()) return false;
  // The index does not exist yet: a stand-in, to ask for the form of addresses.
  TreeWalker::Row row = {d.axis, d.extent, llvm::PoisonValue::get(b_.getInt64Ty()), {}};
  for (const Affine& value : up_) {
    for (const Affine::Term& t : value.terms) row.constant.insert(t.leaf);
  }
  // Defined for this question only; each iteration defines its indices anew.
  TreeWalker::Coordinates index = up_;
  index[d.axis].Add(Leaf(row.index, 0, d.extent - 1), 1);
  DefineIndices(index);
  for (ir::GlobalOp address : across_) {
    ir::TreeFieldAttr field = f_.trees().FieldOf(address.getStorage());
    const int c = static_cast<int>(address.getComponent());
    if (!f_.trees().Crosses(row, field.getComponentTree(c), field.getComponentNode(c),
                            f_.trees().At(field, address.getIndices()), field.getComponentOffset(c),
                            Bytes(address.getType().getPointee()))) {
      return false;
    }
  }
  f_.trees().OpenRow(std::move(row));
  return true;
}

// A counted loop; `body` returns the accumulators after an iteration.
Accumulators StructEmitter::Loop(Value* from, Value* to, const Accumulators& start, Body body) {
  // LLVM may unroll short rows and the loops around them.
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(from);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(to);
  const bool vectorise = first == nullptr || last == nullptr ||
                         last->getSExtValue() - first->getSExtValue() >= kLongRow;
  CountedLoop loop(f_, {"loop", "inside", nullptr, "loop_end"}, from, to, AccumulatorTypes(),
                   start);
  f_.trees().PushScope();
  const Accumulators after = body(loop.index(), loop.values());
  f_.trees().PopScope();
  loop.End(after, vectorise ? CountedLoop::Vectorise::kFirst : CountedLoop::Vectorise::kAsLlvmSees);
  return loop.values();
}

Accumulators StructEmitter::If(Value* condition, const Accumulators& start,
                               llvm::function_ref<Accumulators()> then) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* inside = f_.NewBlock("active");
  BasicBlock* merge = f_.NewBlock("next");
  b_.CreateCondBr(condition, inside, merge);
  b_.SetInsertPoint(inside);
  f_.trees().PushScope();
  const Accumulators after = then();
  f_.trees().PopScope();
  auto phis = f_.Phis(merge, AccumulatorTypes());
  // An inactive cell leaves the accumulators as they were.
  for (auto [phi, value] : llvm::zip(phis, start)) phi->addIncoming(value, before);
  f_.BranchTo(merge, phis, after);
  b_.SetInsertPoint(merge);
  return Accumulators(phis.begin(), phis.end());
}

// Two forms of the same iterations, of which the condition selects one.
Accumulators StructEmitter::Either(Value* condition, llvm::function_ref<Accumulators()> yes,
                                   llvm::function_ref<Accumulators()> no) {
  BasicBlock* blocks[] = {f_.NewBlock("either"), f_.NewBlock("or")};
  BasicBlock* merge = f_.NewBlock("both");
  b_.CreateCondBr(condition, blocks[0], blocks[1]);
  auto phis = f_.Phis(merge, AccumulatorTypes());
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(blocks[i]);
    f_.trees().PushScope();
    const Accumulators after = i == 0 ? yes() : no();
    f_.trees().PopScope();
    f_.BranchTo(merge, phis, after);
  }
  b_.SetInsertPoint(merge);
  return Accumulators(phis.begin(), phis.end());
}

// The body, for the cell at `index`, whose address is `own` (null: not known here).
Accumulators StructEmitter::Iteration(const TreeWalker::Coordinates& index, Value* own,
                                      const Accumulators& start) {
  f_.trees().PushScope();
  // The body's accesses to its own cell then need no walk.
  if (own != nullptr) f_.trees().Know(plan_.field.getTree(), plan_.node, index, own);
  MapIndices(index);
  for (auto [argument, value] : llvm::zip(task_.getAccumulators(), start)) f_.Map(argument, value);
  if (f_.draws()) f_.StartRandom(Number(index));
  BasicBlock* next = f_.NewBlock("next");
  auto after = f_.Phis(next, AccumulatorTypes());
  // `continue` ends an iteration; there is no `break` from a parallel loop.
  f_.PushLoop({next, after, nullptr, {}});
  f_.EmitBlock(task_.getBody().front());
  f_.PopLoop();
  f_.trees().PopScope();
  b_.SetInsertPoint(next);
  return Accumulators(after.begin(), after.end());
}

// --- Elements --------------------------------------------------------------------------

// Iterations [from, to) of an element. A slice has one, whatever its cells; of an element of a list
// of cells, each is part of its block.
Accumulators StructEmitter::Element(Value* number, Value* from, Value* to,
                                    const Accumulators& start) {
  Value* element = b_.CreateInBoundsGEP(b_.getInt8Ty(), f_.EntryLoad(f_.launch(), abi::kElements),
                                        b_.CreateNSWMul(number, b_.getInt64(abi::kElementBytes)));
  ReadPlace(element);
  // The prologue is code before `body`. The walk appends look-ups of blocks to it while the body is
  // emitted, so that they happen once for each element.
  BasicBlock* body = f_.NewBlock("element");
  Value* begin = nullptr;
  Value* end = nullptr;
  if (plan_.slices) {
    begin = b_.CreateZExt(Field(element, abi::kBegin, b_.getInt32Ty()), b_.getInt64Ty());
    Value* count = b_.CreateZExt(Field(element, abi::kCount, b_.getInt32Ty()), b_.getInt64Ty());
    end = b_.CreateNSWAdd(begin, count);
  }
  f_.trees().OpenPrologue(body, leaves_, /*always_visits=*/!plan_.slices);
  Accumulators after;
  if (!plan_.slices) {
    f_.trees().Know(plan_.field.getTree(), plan_.node, at_, cell_);
    after = Cells(from, to, start);
  } else {
    after = Slice(begin, end, start);
  }
  f_.trees().ClosePrologue();
  return after;
}

// --- Lists of cells: dense levels are loops ----------------------------------------------

Accumulators StructEmitter::Cells(Value* from, Value* to, const Accumulators& start) {
  up_ = Origin();
  // No dimension is shared: the element is one iteration.
  if (plan_.shared == 0) return Nest(0, start);
  // The shared dimensions are one loop, over the element's iterations.
  return Loop(from, to, start, [&](Value* iteration, const Accumulators& values) {
    const TreeWalker::Coordinates saved = up_;
    Affine rest = Leaf(iteration, 0, plan_.iterations - 1);
    for (size_t d = plan_.shared; d-- > 0;) {
      const StructPlan::Dimension& dimension = plan_.dimensions[d];
      up_[dimension.axis].Add(TakeDigit(&rest, dimension.extent, d == 0), dimension.factor);
    }
    const Accumulators after = Nest(plan_.shared, values);
    up_ = saved;
    return after;
  });
}

// The loops from `dimension` inwards: the code of both ends, and between them a loop in which all
// that the body reads at constant distances is in the block; or one loop over a short row
// (OpenRow). The bounds of the loop's index (Leaf) tell the walk which of the two it is in.
Accumulators StructEmitter::Nest(size_t dimension, const Accumulators& start) {
  if (dimension == plan_.dimensions.size()) return NestedIteration(start);
  const StructPlan::Dimension& d = plan_.dimensions[dimension];
  // Asked only now, with the indices of the loops outside: the form of the addresses decides.
  const bool whole = dimension + 1 == plan_.dimensions.size() && OpenRow(d);
  const int64_t before = whole ? 0 : ends_[dimension].first;
  const int64_t end = d.extent - (whole ? 0 : ends_[dimension].second);
  const Affine saved = up_[d.axis];
  Accumulators values = start;
  const auto single = [&](int64_t index) {
    up_[d.axis].constant += index * d.factor;
    values = Nest(dimension + 1, values);
    up_[d.axis] = saved;
  };
  // Before the loop and not after it: reductions of floats are added in the order of the cells.
  for (int64_t i = 0; i < before; ++i) single(i);
  values = Loop(b_.getInt64(before), b_.getInt64(end), values,
                [&](Value* index, const Accumulators& inside) {
                  if (whole) f_.trees().set_row_index(index);
                  up_[d.axis].Add(Leaf(index, before, end - 1), d.factor);
                  const Accumulators after = Nest(dimension + 1, inside);
                  up_[d.axis] = saved;
                  return after;
                });
  if (whole) f_.trees().CloseRow();
  for (int64_t i = end; i < d.extent; ++i) single(i);
  return values;
}

// One iteration of the loops over a block. In a slice, the loops' index gives the cell's address.
Accumulators StructEmitter::NestedIteration(const Accumulators& start) {
  if (!plan_.slices) return Iteration(up_, nullptr, start);
  // The cell's distance from the container's cell 0: the digits times their strides, innermost axis
  // first.
  Affine offset;
  int64_t bytes = Node().getCellBytes();
  for (int a = Node().getNumAxes(); a-- > 0;) {
    Affine digit = up_[Node().getAxis(a)];
    digit.Add(at_[Node().getAxis(a)], -1);
    offset.Add(digit, bytes);
    bytes *= Node().getExtent(a);
  }
  Value* own = b_.CreateInBoundsGEP(b_.getInt8Ty(), cell_, EmitAffine(b_, offset));
  return Iteration(up_, own, start);
}

// --- The task --------------------------------------------------------------------------

// The runtime counts iterations through all elements of the list: iteration i is iteration
// i % iterations of element i / iterations. The first and the last element may be partial.
void StructEmitter::Emit(Value* begin, Value* end, Value* piece) {
  const Accumulators start = InitialValues(f_, task_);
  EndIfEmpty(f_, begin, end, "some");
  Value* iterations = b_.getInt64(plan_.iterations);
  // Of the last iteration, not of the end, which may be the first of an element that is not ours.
  Value* last = b_.CreateUDiv(b_.CreateSub(end, b_.getInt64(1)), iterations);
  const Accumulators result =
      Loop(b_.CreateUDiv(begin, iterations), b_.CreateNSWAdd(last, b_.getInt64(1)), start,
           [&](Value* number, const Accumulators& values) {
             Value* first = b_.CreateNSWMul(number, iterations);
             namespace I = llvm::Intrinsic;
             Value* from =
                 b_.CreateBinaryIntrinsic(I::smax, b_.CreateNSWSub(begin, first), b_.getInt64(0));
             Value* to = b_.CreateBinaryIntrinsic(I::smin, b_.CreateNSWSub(end, first), iterations);
             return Element(number, from, to, values);
           });
  StorePartials(f_, piece, result);
}

namespace {

void EmitFunction(KernelState* state, ir::RangeTaskOp op, const StructPlan& plan, int number,
                  const std::string& name, bool parallel) {
  llvm::Function* function = NewTaskFunction(state->module, name);
  FunctionEmitter f(state, function, parallel);
  f.DrawFor(number, op.getBody());
  AskAtAtomics(op, &f);
  f.set_task_body(&op.getBody().front());
  SetTreeEffects(op, plan, &f);
  StructEmitter(f, op, plan).Emit(function->getArg(1), function->getArg(2), function->getArg(3));
  f.Finish();
}

}  // namespace

void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  const StructPlan plan = PlanOf(op, state->kernel);
  StateList(plan, task);
  // The runtime multiplies the list's length by the iterations (launch.cc).
  task->set_iterations(plan.iterations);
  task->set_max_threads(op.getMaxThreads());
  task->set_block_dim(op.getBlockDim());
  SetCost(op, static_cast<uint32_t>(plan.cells), task);
  EmitVariants(state, op, task, [&](const std::string& name, bool parallel) {
    EmitFunction(state, op, plan, number, name, parallel);
  });
  EmitFinish(state, op, task);
}

}  // namespace kiln::cpu
