#include "server/compiler/codegen/cpu/range_emitter.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "server/compiler/codegen/cpu/abi.h"
#include "server/compiler/codegen/cpu/task_function.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cpu {

using llvm::BasicBlock;
using llvm::Value;

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
  loop.End(dimension + 1 < task_.getNumDims() ? Vectorise::kAsLlvmSees : vectorise_,
           /*together=*/0, independent_);
  return loop.values();
}

// The same number, which is between -2^32 and 2^32: LLVM can tell now. It then knows that the
// addresses of a loop from there on do not wrap, even if they are of vectors, whose size is no
// power of two. Otherwise it checks that before the loop, and does not vectorise what needs many
// checks.
Value* RangeEmitter::Bounded(Value* index) {
  constexpr uint64_t kUnused = 31;
  const mlir::ValueRange indices = task_.getIndices();
  if (row_ < 0 || !indices[row_].getType().isInteger(32)) return index;
  return b_.CreateAShr(b_.CreateShl(index, kUnused), kUnused);
}

RangeEmitter::Accumulators RangeEmitter::EmitRow(Value* from, Value* to, Value* outer,
                                                 const Accumulators& start) {
  if (lanes_ == nullptr) return EmitLoop(row_, Bounded(from), Bounded(to), outer, start);
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
  loop.End(vectorise, /*together=*/0, independent_);
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
  if (independent_) f_.set_access_group(llvm::MDNode::getDistinct(b_.getContext(), {}));
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

}  // namespace kiln::cpu
