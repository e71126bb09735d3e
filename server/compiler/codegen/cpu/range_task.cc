#include "server/compiler/codegen/cpu/range_task.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cpu/abi.h"
#include "server/compiler/codegen/cpu/task_function.h"
#include "server/compiler/codegen/cpu/vectorise.h"
#include "server/compiler/codegen/dimensions.h"
#include "server/compiler/codegen/lane_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/passes/cost.h"

namespace kiln::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// How many innermost dimensions belong to one iteration of the linear space: short constant ones. A
// row of a few cells would cost more than its cells. With them, an iteration is a block of cells,
// whose loops have constant bounds and are unrolled by LLVM.
int FoldedDimensions(const std::vector<Dimension>& dimensions) {
  constexpr int64_t kMaxRow = 16, kMaxBlock = 64;
  int64_t block = 1;
  int folded = 0;
  for (size_t d = dimensions.size(); d-- > 1;) {
    auto* extent = llvm::dyn_cast<llvm::ConstantInt>(dimensions[d].extent);
    // Only innermost ones: outside of an unknown extent, the block would not be a constant.
    if (extent == nullptr || extent->isZero()) break;
    const int64_t cells = extent->getSExtValue();
    if (cells > (folded == 0 ? kMaxRow : kMaxBlock) || block * cells > kMaxBlock) break;
    block *= cells;
    ++folded;
  }
  return folded;
}

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

// A range task's code for iterations [begin, end) of the linear space.
class RangeEmitter {
 public:
  RangeEmitter(FunctionEmitter& f, ir::RangeTaskOp task, std::vector<Dimension> dimensions)
      : f_(f),
        b_(f.builder()),
        task_(task),
        dimensions_(std::move(dimensions)),
        // The linear space counts the dimensions up to row_. Rows run along row_; those inside are
        // loops of constant length.
        row_(static_cast<int>(dimensions_.size()) - FoldedDimensions(dimensions_) - 1) {}

  void Emit(Value* begin, Value* end, Value* piece);
  // Moves the ends of chunks to where the loop may be cut (Cut), by steps of so many iterations.
  void set_step(int64_t step) { step_ = step; }
  // Runs iterations in lanes, along the innermost dimension, which is not folded.
  void set_lanes(LaneEmitter* lanes) { lanes_ = lanes; }
  // Of loops over cells.
  void set_vectorise(FunctionEmitter::Vectorise vectorise) { vectorise_ = vectorise; }
  // Rows store `to` past the caches, if all of the loop's stores do not fit into them.
  void set_stream(ir::GlobalOp to) {
    if (!IsFolded() && lanes_ == nullptr) stream_ = to;
  }
  // Rows of a body that passes/split_rows.cc has split are two loops: of the cells inside, and of
  // those at the ends.
  void set_split(ir::IfOp split) {
    if (!IsFolded()) split_ = split;
  }
  // Whether much of a row may be left over behind its last vector.
  bool HasRaggedRows() const;

 private:
  using Accumulators = CountedLoop::Values;
  using Phis = CountedLoop::Phis;
  using Vectorise = FunctionEmitter::Vectorise;

  bool IsFolded() const { return row_ != static_cast<int>(dimensions_.size()) - 1; }
  Accumulators EmitRows(Value* begin, Value* end, const Accumulators& start);
  llvm::SmallVector<Value*, 4> IndicesOfRow(Value* row);
  void NextRow(const Phis& indices, BasicBlock* latch);
  // `outer`: the number of the cell among those of the dimensions outside, in row-major order.
  Accumulators EmitLoop(int dimension, Value* from, Value* to, Value* outer,
                        const Accumulators& start);
  Accumulators EmitRow(Value* from, Value* to, Value* outer, const Accumulators& start);
  void EmitStreamed(Value* from, Value* to, Value* outer);
  Value* EmitIsLarge();
  void EmitFence();
  Accumulators EmitSplit(Value* from, Value* to, Value* outer, const Accumulators& start);
  Accumulators EmitCells(Value* from, Value* to, Value* outer, const Accumulators& start,
                         mlir::Block* branch, Vectorise vectorise);
  void EmitInside();
  void EmitBody(Value* number, const CountedLoop& loop, mlir::Block* branch = nullptr);
  Value* NumberOf(int dimension, Value* index, Value* outer);
  void MapIndex(int dimension, Value* index);
  Value* Cut(Value* at);
  mlir::TypeRange AccumulatorTypes() {
    return mlir::ValueRange(task_.getAccumulators()).getTypes();
  }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  std::vector<Dimension> dimensions_;
  const int row_;     // the innermost dimension that is not folded; -1: there is no dimension
  int64_t step_ = 0;  // 0: chunks end anywhere
  LaneEmitter* lanes_ = nullptr;
  Vectorise vectorise_ = Vectorise::kAsLlvmSees;
  ir::GlobalOp stream_;        // null: stores go through the caches
  Value* is_large_ = nullptr;  // if not null: whether it is better that they do not
  ir::IfOp split_;             // null: each row is one loop
  // If split: where the inner part of a row begins and ends, as indices, within the row.
  Value *inside_from_ = nullptr, *inside_to_ = nullptr;
};

bool RangeEmitter::HasRaggedRows() const {
  // LLVM takes two vectors of eight at once. Longer rows leave too little to repay the compiler's
  // work.
  constexpr int64_t kVectors = 16, kLongRow = 256;
  if (row_ <= 0 || IsFolded() || lanes_ != nullptr) return false;
  const auto* extent = llvm::dyn_cast<llvm::ConstantInt>(dimensions_[row_].extent);
  if (extent == nullptr) return false;
  const int64_t cells = extent->getSExtValue();
  return cells > kVectors && cells <= kLongRow && (split_ || cells % kVectors >= kVectors / 4);
}

void RangeEmitter::MapIndex(int dimension, Value* index) {
  const mlir::Value argument = task_.getIndices()[dimension];
  const Dimension& d = dimensions_[dimension];
  f_.Map(argument, b_.CreateTrunc(index, LlvmType(argument.getType(), b_.getContext())));
  f_.indices().Define(argument, IndexBetween(index, d.lower, d.upper));
}

// The number of the cell among those of `dimension` and those outside. Only random numbers need it.
Value* RangeEmitter::NumberOf(int dimension, Value* index, Value* outer) {
  if (dimension < 0 || !f_.draws()) return outer;
  const Dimension& d = dimensions_[dimension];
  return b_.CreateAdd(b_.CreateMul(outer, d.extent), b_.CreateSub(index, d.lower));
}

// One iteration of the task. `number` is its place among all, in row-major order. `branch`: the
// block of the split that it takes.
void RangeEmitter::EmitBody(Value* number, const CountedLoop& loop, mlir::Block* branch) {
  f_.StartRandom(number);
  for (auto [argument, value] : llvm::zip(task_.getAccumulators(), loop.values())) {
    f_.Map(argument, value);
  }
  f_.PushLoop({loop.next(), loop.next_values(), nullptr, {}});
  mlir::Block& body = task_.getBody().front();
  if (branch == nullptr) {
    f_.EmitBlock(body);
  } else if (ir::YieldOp yield = f_.EmitBlock(*branch)) {
    // What is before the split has been emitted (EmitInside).
    for (auto [result, value] : llvm::zip(split_.getResults(), yield.getValues())) {
      f_.Map(result, f_.ValueOf(value));
    }
    f_.EmitOps({std::next(split_->getIterator()), body.end()});
  }
  f_.PopLoop();
}

// The ops before the split, which are the same in all iterations but for the question itself.
void RangeEmitter::EmitInside() {
  mlir::Block& body = task_.getBody().front();
  auto inside = split_.getCondition().getDefiningOp<ir::InsideOp>();
  f_.EmitOps({body.begin(), inside->getIterator()});
  const Dimension& row = dimensions_[row_];
  const auto within = [&](Value* at, Value* from) {
    Value* end = b_.CreateNSWAdd(row.lower, row.extent);
    at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, from);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, end);
  };
  inside_from_ = within(f_.ValueOf(inside.getLower()), row.lower);
  inside_to_ = within(f_.ValueOf(inside.getUpper()), inside_from_);
}

// A counted loop over one dimension from `from` to `to`, with the loops over those inside it.
RangeEmitter::Accumulators RangeEmitter::EmitLoop(int dimension, Value* from, Value* to,
                                                  Value* outer, const Accumulators& start) {
  if (split_ && dimension == row_) return EmitSplit(from, to, outer, start);
  if (stream_ && dimension == row_) {
    EmitStreamed(from, to, outer);
    return {};
  }
  CountedLoop loop(f_, {"row", "iteration", "next", "row_end"}, from, to, AccumulatorTypes(),
                   start);
  // A field without axes has one iteration and no index.
  if (dimension >= 0) MapIndex(dimension, loop.index());
  Value* number = NumberOf(dimension, loop.index(), outer);
  if (dimension + 1 < task_.getNumDims()) {
    const Dimension& inner = dimensions_[dimension + 1];
    f_.BranchTo(loop.next(), loop.next_values(),
                EmitLoop(dimension + 1, inner.lower, b_.CreateAdd(inner.lower, inner.extent),
                         number, loop.values()));
  } else {
    EmitBody(number, loop);
  }
  b_.SetInsertPoint(loop.next());
  loop.End(dimension + 1 < task_.getNumDims() ? Vectorise::kAsLlvmSees : vectorise_);
  return loop.values();
}

RangeEmitter::Accumulators RangeEmitter::EmitRow(Value* from, Value* to, Value* outer,
                                                 const Accumulators& start) {
  if (lanes_ == nullptr) return EmitLoop(row_, from, to, outer, start);
  return lanes_->EmitRow(from, to, NumberOf(row_, from, outer), start);
}

// A row, or a part of one, of a body that is split: the cells at both ends, then those inside.
RangeEmitter::Accumulators RangeEmitter::EmitSplit(Value* from, Value* to, Value* outer,
                                                   const Accumulators& start) {
  const auto clamp = [&](Value* at, Value* least) {
    at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, least);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, to);
  };
  Value* inside_from = clamp(inside_from_, from);
  Value* inside_to = clamp(inside_to_, inside_from);
  // One loop for both ends, since code takes time to compile.
  CountedLoop ends(f_, {"ends", "end", nullptr, "ends_end"}, b_.getInt64(0), b_.getInt64(2),
                   AccumulatorTypes(), start);
  Value* first = b_.CreateICmpEQ(ends.index(), b_.getInt64(0));
  ends.End(
      EmitCells(b_.CreateSelect(first, from, inside_to), b_.CreateSelect(first, inside_from, to),
                outer, ends.values(), &split_.getElseBlock(), Vectorise::kNever),
      Vectorise::kNever);
  return EmitCells(inside_from, inside_to, outer, ends.values(), &split_.getThenBlock(),
                   vectorise_);
}

RangeEmitter::Accumulators RangeEmitter::EmitCells(Value* from, Value* to, Value* outer,
                                                   const Accumulators& start, mlir::Block* branch,
                                                   Vectorise vectorise) {
  CountedLoop loop(f_, {"row", "iteration", "next", "row_end"}, from, to, AccumulatorTypes(),
                   start);
  MapIndex(row_, loop.index());
  EmitBody(NumberOf(row_, loop.index(), outer), loop, branch);
  b_.SetInsertPoint(loop.next());
  loop.End(vectorise);
  return loop.values();
}

// Whether the loop stores more than the caches keep until someone reads it.
Value* RangeEmitter::EmitIsLarge() {
  Value* bytes = b_.getInt64(Bytes(stream_.getType().getPointee()));
  for (const Dimension& d : dimensions_) bytes = b_.CreateMul(bytes, d.extent);
  Value* table = f_.EntryLoad(f_.launch(), abi::kRuntime);
  Value* from = b_.CreateLoad(
      b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), table, abi::kStreamFrom));
  return b_.CreateICmpUGE(bytes, from);
}

// A row, or a part of one, whose stores may go past the caches. Only aligned vectors can, so the
// cells before the first cache line are a loop of their own. It does not matter that their number
// depends on the address of the data: vector and scalar code give the same here (StreamOf).
void RangeEmitter::EmitStreamed(Value* from, Value* to, Value* outer) {
  constexpr int64_t kCacheLine = codegen::kStreamAlignment;
  const int64_t bytes = Bytes(stream_.getType().getPointee());
  BasicBlock* streamed = f_.NewBlock("streamed");
  BasicBlock* plain = f_.NewBlock("plain");
  BasicBlock* after = f_.NewBlock("row_after");
  MapIndex(row_, from);
  Value* at = b_.CreatePtrToInt(f_.PointerTo(stream_), b_.getInt64Ty());
  // The program's arrays may be at any address.
  Value* aligned = b_.CreateIsNull(b_.CreateAnd(at, b_.getInt64(bytes - 1)));
  b_.CreateCondBr(b_.CreateAnd(is_large_, aligned), streamed, plain);

  b_.SetInsertPoint(streamed);
  Value* before = b_.CreateAnd(b_.CreateNeg(at), b_.getInt64(kCacheLine - 1));
  Value* first = b_.CreateNSWAdd(from, b_.CreateUDiv(before, b_.getInt64(bytes)));
  first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, first, to);
  EmitCells(from, first, outer, {}, nullptr, Vectorise::kNever);
  EmitCells(first, to, outer, {}, nullptr, Vectorise::kStream);
  b_.CreateBr(after);

  b_.SetInsertPoint(plain);
  EmitCells(from, to, outer, {}, nullptr, vectorise_);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// Stores past the caches have no order. They happen before whatever tells other threads that this
// one is done.
void RangeEmitter::EmitFence() {
  BasicBlock* fence = f_.NewBlock("fence");
  BasicBlock* fenced = f_.NewBlock("fenced");
  b_.CreateCondBr(is_large_, fence, fenced);
  b_.SetInsertPoint(fence);
  b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  b_.CreateBr(fenced);
  b_.SetInsertPoint(fenced);
}

// The index of a row in each of the dimensions outside. The chunk is not empty, so no extent is 0.
llvm::SmallVector<Value*, 4> RangeEmitter::IndicesOfRow(Value* row) {
  llvm::SmallVector<Value*, 4> indices(row_);
  for (int d = row_ - 1; d >= 0; --d) {
    // The outermost index is what is left, so it needs no division.
    indices[d] = d == 0 ? row : b_.CreateURem(row, dimensions_[d].extent);
    if (d > 0) row = b_.CreateUDiv(row, dimensions_[d].extent);
  }
  return indices;
}

// Counts these indices up like an odometer, without a division: each that reaches its extent starts
// again from 0 and carries into the next one outside.
void RangeEmitter::NextRow(const Phis& indices, BasicBlock* latch) {
  const int innermost = row_ - 1;
  // Selects, not branches: a carry is rare, and the code runs once a row.
  Value* carry = b_.getTrue();
  for (int d = innermost; d >= 0; --d) {
    Value* up = b_.CreateNSWAdd(indices[d], b_.getInt64(1));
    if (d < innermost) up = b_.CreateSelect(carry, up, indices[d]);
    if (d > 0) {
      carry = b_.CreateICmpEQ(up, dimensions_[d].extent);
      up = b_.CreateSelect(carry, b_.getInt64(0), up);
    }
    indices[d]->addIncoming(up, latch);
  }
}

// A chunk as rows of one dimension (row_). Its first and its last row may be partial.
RangeEmitter::Accumulators RangeEmitter::EmitRows(Value* begin, Value* end,
                                                  const Accumulators& start) {
  const int last = row_;
  Value* width = dimensions_[last].extent;
  Value* row = b_.CreateUDiv(begin, width);
  Value* column = b_.CreateURem(begin, width);
  const llvm::SmallVector<Value*, 4> outer = IndicesOfRow(row);

  BasicBlock* header = f_.NewBlock("rows");
  BasicBlock* exit = f_.NewBlock("rows_end");
  llvm::IRBuilder<> at_header(header);
  BasicBlock* before = b_.GetInsertBlock();
  const auto phi_of = [&](Value* first) {
    llvm::PHINode* phi = at_header.CreatePHI(first->getType(), 2);
    phi->addIncoming(first, before);
    return phi;
  };
  llvm::PHINode* linear = phi_of(begin);
  llvm::PHINode* first_column = phi_of(column);
  Phis indices;
  for (Value* v : outer) indices.push_back(phi_of(v));
  Phis accumulators;
  for (Value* v : start) accumulators.push_back(phi_of(v));
  b_.CreateBr(header);

  b_.SetInsertPoint(header);
  for (int d = 0; d < last; ++d) MapIndex(d, b_.CreateNSWAdd(indices[d], dimensions_[d].lower));
  // The rest of the chunk or of the row, whichever is shorter.
  Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, linear),
                                          b_.CreateNSWSub(width, first_column));
  Value* from = b_.CreateNSWAdd(first_column, dimensions_[last].lower);
  Value* number = f_.draws() ? b_.CreateUDiv(linear, width) : b_.getInt64(0);
  Accumulators after = EmitRow(from, b_.CreateNSWAdd(from, count), number,
                               Accumulators(accumulators.begin(), accumulators.end()));

  // The runtime cannot make pieces short, since they follow from the extent alone. So they look at
  // the launch's flag themselves.
  if (!task_.getInits().empty()) f_.EndIfFailed();
  BasicBlock* latch = b_.GetInsertBlock();
  Value* next = b_.CreateNSWAdd(linear, count);
  linear->addIncoming(next, latch);
  first_column->addIncoming(b_.getInt64(0), latch);
  NextRow(indices, latch);
  for (auto [phi, value] : llvm::zip(accumulators, after)) phi->addIncoming(value, latch);
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), header, exit);
  b_.SetInsertPoint(exit);
  return after;
}

// The last place, not after `at`, where a chunk may end (StepOf says why not anywhere). Such places
// are the end of the loop, the beginning of a row, and multiples of the step in it. The latter
// leave a step or more to the row's end. The step is a power of two.
Value* RangeEmitter::Cut(Value* at) {
  Value* width = dimensions_[row_].extent;
  // The end of the only row is no column of it: the last line below keeps it.
  Value* column = row_ > 0 ? b_.CreateURem(at, width) : at;
  const auto kept_of = [&](Value* columns, Value* count) {
    Value* room = b_.CreateSub(count, b_.getInt64(step_));
    room = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, room, b_.getInt64(0));
    Value* kept = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, columns, room);
    return b_.CreateAnd(kept, b_.getInt64(-step_));
  };
  Value* kept;
  if (split_) {
    // Vectors begin where the inner part does; before it, the beginning of the row is left.
    Value* from = b_.CreateSub(inside_from_, dimensions_[row_].lower);
    Value* columns = b_.CreateSub(column, from);
    kept = b_.CreateAdd(from, kept_of(columns, b_.CreateSub(inside_to_, inside_from_)));
    kept = b_.CreateSelect(b_.CreateICmpSLT(columns, b_.getInt64(0)), b_.getInt64(0), kept);
  } else {
    kept = kept_of(column, width);
  }
  Value* cut = b_.CreateAdd(b_.CreateSub(at, column), kept);
  return row_ > 0 ? cut : b_.CreateSelect(b_.CreateICmpEQ(at, width), at, cut);
}

void RangeEmitter::Emit(Value* begin, Value* end, Value* piece) {
  const Accumulators start = lanes_ != nullptr ? lanes_->InitialValues() : InitialValues(f_, task_);
  EndIfEmpty(f_, begin, end, "some");
  if (split_) EmitInside();
  if (stream_) is_large_ = EmitIsLarge();
  // Both ends move alike, so neighbouring chunks still meet. A chunk may become empty.
  if (step_ > 0 && row_ >= 0) {
    begin = Cut(begin);
    end = Cut(end);
    EndIfEmpty(f_, begin, end, "left");
  }
  Accumulators result;
  if (row_ <= 0) {
    Value* lower = dimensions_.empty() ? b_.getInt64(0) : dimensions_[0].lower;
    result =
        EmitRow(b_.CreateNSWAdd(begin, lower), b_.CreateNSWAdd(end, lower), b_.getInt64(0), start);
  } else {
    result = EmitRows(begin, end, start);
  }
  if (lanes_ != nullptr) result = lanes_->Combine(result);
  if (stream_) EmitFence();
  StorePartials(f_, piece, result);
}

// The branch by which passes/split_rows.cc has split the body; null: it has not.
ir::IfOp SplitOf(ir::RangeTaskOp op) {
  for (auto branch : op.getBody().front().getOps<ir::IfOp>()) {
    auto inside = branch.getCondition().getDefiningOp<ir::InsideOp>();
    if (inside && inside->getNextNode() == branch) return branch;
  }
  return {};
}

// The number of lanes in which a task runs; 0: one iteration after the other.
int64_t LanesOf(KernelState* state, ir::RangeTaskOp op, const std::vector<Dimension>& dimensions) {
  // Rows that are shorter than a vector would leave lanes idle; folded ones are hardly longer.
  const codegen::Target::Lanes target = state->target->lanes();
  if (!op.getLanes() || target.count == 0 || FoldedDimensions(dimensions) > 0) return 0;
  if (SplitOf(op)) return 0;  // LLVM vectorises these
  constexpr int64_t kLongRow = 256;
  const auto* extent = llvm::dyn_cast<llvm::ConstantInt>(dimensions.back().extent);
  if (extent != nullptr && extent->getSExtValue() < target.count) return 0;
  return LaneEmitter::LanesFor(op, target, extent != nullptr && extent->getSExtValue() >= kLongRow);
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

// The step by which chunks may end; 0: anywhere. Vector code, and the scalar code for what is left
// at the end of a row, may round differently (functions, quotients). Chunks end only where vectors
// do, so that results do not depend on how the runtime divides a loop. Pieces need no step: they
// are the same in every run.
//
// Lanes round as scalar code does. But a chunk that ends within a vector leaves lanes idle.
int64_t StepOf(ir::RangeTaskOp op, int64_t lanes) {
  constexpr int64_t kMostStep = 512, kLeastStep = 16, kNanoseconds = 2000;
  if (!op.getInits().empty() || (lanes == 0 && !MayVectorise(op.getBody()))) return 0;
  // About 2 us of work, the least chunk of the runtime. Powers of two are multiples of any vector's
  // length.
  const int64_t wanted = kNanoseconds / std::max<int64_t>(op.getCost(), 1);
  return static_cast<int64_t>(
      llvm::bit_floor(static_cast<uint64_t>(std::clamp(wanted, kLeastStep, kMostStep))));
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

bool ComputesFloats(mlir::Region& region) {
  return region
      .walk([](mlir::Operation* op) {
        const bool floats = llvm::any_of(op->getResultTypes(), llvm::IsaPred<mlir::FloatType>);
        return floats && !llvm::isa<ir::LoadOp>(op) ? mlir::WalkResult::interrupt()
                                                    : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// Whether an index comes from data or from a float, and so is different in each iteration in no
// way that is known.
bool IsFromData(mlir::Value index, int depth = 8) {
  mlir::Operation* op = index.getDefiningOp();
  if (op == nullptr || depth == 0) return false;
  if (llvm::isa<ir::LoadOp, mlir::arith::FPToSIOp>(op)) return true;
  return llvm::isa<mlir::arith::AddIOp, mlir::arith::SubIOp, mlir::arith::MulIOp,
                   mlir::arith::SelectOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](mlir::Value part) { return IsFromData(part, depth - 1); });
}

// Whether all atomics update numbers that adjoin their neighbours, at places that data give, such
// as the masses of grid cells around a particle. SLP would make one load and one store of
// neighbours. The next iteration's pair often has one number of this one's and one more: its load
// then waits until the store is in the cache, which takes longer than SLP gains. Vectors in the
// cells do not overlap so.
bool ScattersNumbers(ir::RangeTaskOp op) {
  auto kernel = op->getParentOfType<ir::KernelOp>();
  int count = 0;
  const auto walked = op.getBody().walk([&](ir::AtomicOp atomic) {
    auto global = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!global) return mlir::WalkResult::interrupt();
    auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[global.getStorage()]);
    if (!dense || dense.getNumDigits() == 0) return mlir::WalkResult::interrupt();
    const int base = static_cast<int>(dense.getComponentBase(global.getComponent()));
    const bool adjoin = dense.getDigitStride(base, dense.getNumDigits() - 1) ==
                        Bytes(global.getType().getPointee());
    if (!adjoin ||
        !llvm::any_of(global.getIndices(), [](mlir::Value i) { return IsFromData(i); })) {
      return mlir::WalkResult::interrupt();
    }
    ++count;
    return mlir::WalkResult::advance();
  });
  return !walked.wasInterrupted() && count > 1;
}

// Whether `global` is one address after the other along the innermost dimension of the loop, and
// each iteration has one.
bool IsCellAfterCell(ir::GlobalOp global, ir::RangeTaskOp op) {
  if (!llvm::equal(global.getIndices(), op.getIndices())) return false;
  mlir::Attribute storage = op->getParentOfType<ir::KernelOp>().getStorages()[global.getStorage()];
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage)) {
    return array.getTypes().size() == 1 && !array.getClamp();
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
  if (!dense || dense.getNumDigits() != dense.getAxes()) return false;
  const int base = static_cast<int>(dense.getComponentBase(global.getComponent()));
  const int last = dense.getNumDigits() - 1;
  return dense.getDigitAxis(last) == last &&
         dense.getDigitStride(base, last) == Bytes(global.getType().getPointee());
}

// The address to which a loop stores cell after cell without reading there. Null if the loop does
// much more than copy other cells. Loops that read nothing are as fast through the caches, since
// processors write whole lines without reading them first.
//
// Not for bodies whose vector and scalar code may round differently: where vectors begin depends on
// the address. So there are no functions and quotients, and too few sums for the SLP vectoriser to
// change their order.
ir::GlobalOp StreamOf(ir::RangeTaskOp op) {
  constexpr int kMostOfFloats = 3;
  if (!op.getInits().empty() || op.getNumDims() == 0) return {};
  ir::GlobalOp stream;
  int of_floats = 0;
  for (mlir::Operation& inner : op.getBody().front()) {
    if (auto store = llvm::dyn_cast<ir::StoreOp>(inner)) {
      if (stream) return {};
      stream = store.getAddress().getDefiningOp<ir::GlobalOp>();
      if (!stream) return {};
    } else if (llvm::isa<mlir::arith::AddFOp, mlir::arith::SubFOp, mlir::arith::MulFOp>(inner)) {
      if (++of_floats > kMostOfFloats) return {};
    } else if (!llvm::isa<ir::GlobalOp, ir::LoadOp, ir::ArgumentOp, ir::ContinueOp>(inner) &&
               (!llvm::isa<mlir::arith::ArithDialect>(inner.getDialect()) ||
                llvm::isa<mlir::arith::DivFOp, mlir::arith::RemFOp>(inner))) {
      return {};
    }
  }
  if (!stream || stream.getType().getPointee().isInteger(1)) return {};
  const auto reads = [&](ir::LoadOp load) { return load.getAddress() == stream; };
  if (llvm::any_of(op.getBody().front().getOps<ir::LoadOp>(), reads)) return {};
  bool copies = false;
  for (auto global : op.getBody().front().getOps<ir::GlobalOp>()) {
    if (global == stream) continue;
    if (global.getStorage() == stream.getStorage()) return {};
    copies |= !global.getIndices().empty() && global.getIndices().back() == op.getIndices().back();
  }
  return copies && IsCellAfterCell(stream, op) ? stream : ir::GlobalOp();
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
  RangeEmitter emitter(f, op, std::move(dimensions));
  if (lane_emitter) emitter.set_lanes(&*lane_emitter);
  emitter.set_step(StepOf(op, lanes));
  emitter.set_vectorise(VectoriseOf(op));
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
