#include "server/compiler/codegen/cuda/range_task.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "llvm/ADT/bit.h"
#include "server/compiler/codegen/cuda/loop_length.h"
#include "server/compiler/codegen/cuda/range_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

using llvm::Value;
using SkipUnless = ThreadLoop::SkipUnless;

// Whether an iteration reads along rows or columns. A block then reads less if it has iterations of
// several rows: threads of one column share what they read there.
bool ReadsInLoops(ir::RangeTaskOp task) {
  return task.getBody()
      .walk([](ir::ForOp loop) {
        return loop.walk([](ir::LoadOp) { return mlir::WalkResult::interrupt(); });
      })
      .wasInterrupted();
}

// Whether an iteration reads several rows of one array, as stencils do.
bool ReadsRows(ir::RangeTaskOp task) {
  llvm::SmallVector<ir::GlobalOp> seen;
  return task.getBody()
      .walk([&](ir::GlobalOp address) {
        const auto is_another_row = [&](ir::GlobalOp other) {
          return other.getStorage() == address.getStorage() &&
                 !llvm::equal(other.getIndices().drop_back(), address.getIndices().drop_back());
        };
        if (address.getIndices().size() < 2) return mlir::WalkResult::advance();
        if (llvm::any_of(seen, is_another_row)) return mlir::WalkResult::interrupt();
        seen.push_back(address);
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace

Value* RangeEmitter::Total() {
  Value* total = b_.getInt64(1);
  for (const Dimension& d : dimensions_) total = b_.CreateMul(total, d.extent);
  // Divisions of 64 bits are functions of a hundred instructions.
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(total);
  if (constant != nullptr && constant->getValue().isIntN(31)) bits_ = 32;
  return total;
}

std::optional<int64_t> RangeEmitter::ConstantTotal() const {
  auto* total = llvm::dyn_cast<llvm::ConstantInt>(total_);
  return total != nullptr ? std::optional(total->getSExtValue()) : std::nullopt;
}

bool RangeEmitter::HasRoomFor(int64_t length) const {
  // With fewer iterations, multiprocessors would be without work.
  constexpr int64_t kLeast = 1 << 15;
  // What is left of shorter rows would be most of them.
  constexpr int64_t kLeastOfRow = 4;
  auto* row = llvm::dyn_cast<llvm::ConstantInt>(dimensions_.back().extent);
  return ConstantTotal().value_or(kLeast) >= kLeast &&
         (row == nullptr || row->getSExtValue() >= kLeastOfRow * length);
}

bool RangeEmitter::HasRoomFor(const Chunks::Patch& patch) const {
  // With fewer patches, multiprocessors would not have the threads that hide how long memory takes.
  constexpr int64_t kLeast = 1 << 15;
  // What is left of fewer rows would be much of them.
  constexpr int64_t kLeastRows = 2;
  if (dimensions_.size() < 2 || !HasRoomFor(patch.length)) return false;
  auto* rows = llvm::dyn_cast<llvm::ConstantInt>(dimensions_[dimensions_.size() - 2].extent);
  return ConstantTotal().value_or(INT64_MAX) / (patch.length * patch.rows) >= kLeast &&
         (rows == nullptr || rows->getSExtValue() >= kLeastRows * patch.rows);
}

Value* RangeEmitter::Narrow(Value* number, unsigned bits) {
  return b_.CreateTrunc(number, b_.getIntNTy(bits));
}

// Quotient and remainder of numbers of iterations.
std::pair<Value*, Value*> RangeEmitter::Divide(Value* number, Value* by) {
  number = Narrow(number, bits_);
  by = Narrow(by, bits_);
  llvm::Type* i64 = b_.getInt64Ty();
  return {b_.CreateZExt(b_.CreateUDiv(number, by), i64),
          b_.CreateZExt(b_.CreateURem(number, by), i64)};
}

// The loop's index is `index` and a few more.
void RangeEmitter::MapIndex(size_t dimension, Value* index, int64_t more) {
  const mlir::Value argument = task_.getIndices()[dimension];
  Value* sum = more == 0 ? index : b_.CreateNSWAdd(index, b_.getInt64(more));
  f_.Map(argument, b_.CreateTrunc(sum, LlvmType(argument.getType(), b_.getContext())));
  Affine affine = IndexBetween(index, dimensions_[dimension].lower, dimensions_[dimension].upper);
  affine.constant = more;
  // It is the sum that is between the bounds.
  Affine::Term& leaf = affine.terms.front();
  leaf.low -= more;
  leaf.high -= more;
  f_.indices().Define(argument, affine);
}

// The first dimensions, from the innermost of them, which runs fastest, outwards.
void RangeEmitter::MapRow(Value* row, size_t dimensions) {
  for (size_t d = dimensions; d-- > 0;) {
    const Dimension& dimension = dimensions_[d];
    Value* index = row;
    // The outermost index is what is left, so it needs no division.
    if (d > 0) std::tie(row, index) = Divide(row, dimension.extent);
    MapIndex(d, b_.CreateNSWAdd(index, dimension.lower));
  }
}

// Numbers iterations anew, such that the warps of a block take the same columns of rows that follow
// each other: the rows of each plane in groups of as many as a block has warps, and each group in
// tiles of a warp's width. What is left of a row after its tiles follows them, row by row; the last
// group of a plane has what rows are left.
RangeEmitter::Place RangeEmitter::InTiles(Value* number) {
  const auto constant = [&](uint64_t n) { return b_.getInt64(n); };
  // A group may be larger than the loop, so that `bits_` would be too few.
  const auto divide = [&](Value* n, Value* by) {
    by = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, by, constant(1));
    return std::pair(b_.CreateUDiv(n, by), b_.CreateURem(n, by));
  };
  Value* rows = dimensions_[dimensions_.size() - 2].extent;
  Value* columns = dimensions_.back().extent;
  Value* row_before = constant(0);  // the first one of the plane
  if (dimensions_.size() > 2) {
    auto [plane, within] = divide(number, b_.CreateMul(rows, columns));
    row_before = b_.CreateMul(plane, rows);
    number = within;
  }
  Value* high = constant(BlockOf(task_) / kWarp);
  auto [group, in_group] = divide(number, b_.CreateMul(columns, high));
  Value* first_row = b_.CreateMul(group, high);
  high = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, high, b_.CreateSub(rows, first_row));
  Value* tiles = b_.CreateLShr(columns, constant(kWarpBits));
  Value* tiled = b_.CreateShl(tiles, constant(kWarpBits));  // columns
  Value* is_tiled = b_.CreateICmpSLT(in_group, b_.CreateMul(tiled, high));
  // In a tile: its warps, and the thread's number in its warp.
  auto [tile, warp] = divide(b_.CreateLShr(in_group, constant(kWarpBits)), high);
  Value* lane = b_.CreateAnd(in_group, constant(kWarp - 1));
  Value* tiled_column = b_.CreateAdd(b_.CreateShl(tile, constant(kWarpBits)), lane);
  // After them.
  Value* left = b_.CreateSub(in_group, b_.CreateMul(tiled, high));
  auto [left_row, left_column] = divide(left, b_.CreateSub(columns, tiled));
  Value* row = b_.CreateSelect(is_tiled, warp, left_row);
  return {b_.CreateAdd(b_.CreateAdd(row_before, first_row), row),
          b_.CreateSelect(is_tiled, tiled_column, b_.CreateAdd(tiled, left_column))};
}

Value* RangeEmitter::IfRuns(Value* count) {
  return runs_ == nullptr ? count : b_.CreateSelect(runs_, count, b_.getInt64(0));
}

bool RangeEmitter::HasTiles() const {
  return dimensions_.size() > 1 && IsParallel(task_) && BlockOf(task_) % kWarp == 0 &&
         !WorksTogether(f_.state().kernel, task_);
}

void RangeEmitter::EmitEach(ThreadLoop& loop) {
  const bool in_tiles = HasTiles() && ReadsInLoops(task_);
  loop.Emit(IfRuns(total_), 1, [&](Value* number, int64_t, const SkipUnless&) {
    if (in_tiles) {
      const size_t last = dimensions_.size() - 1;
      const Dimension& row = dimensions_[last];
      const Place at = InTiles(number);
      MapRow(at.row, last);
      MapIndex(last, b_.CreateNSWAdd(at.column, row.lower));
      number = b_.CreateAdd(b_.CreateMul(at.row, row.extent), at.column);
    } else {
      MapRow(number, dimensions_.size());
    }
    f_.StartRandom(number);
  });
}

void RangeEmitter::Emit() {
  ThreadLoop loop(f_, task_);
  EmitEach(loop);
  loop.Finish();
}

// What a chunk reads is read first, by accesses of several elements, and so not one by one between
// updates, each of which would wait for its read.
void RangeEmitter::Emit(Histograms& histograms, const std::optional<Chunks>& reads) {
  histograms.EmitBegin(total_);
  ThreadLoop loop(f_, task_);
  runs_ = histograms.pays();
  histograms.Use(true);
  if (reads && reads->length() > 1 && HasRoomFor(reads->length())) {
    EmitReadingFirst(loop, *reads);
  } else {
    EmitEach(loop);
  }
  // Otherwise the updates are those of any loop, which passes on LLVM's IR may join.
  runs_ = b_.CreateNot(histograms.pays());
  histograms.Use(false);
  EmitEach(loop);
  histograms.EmitEnd();
  loop.Finish();
}

void RangeEmitter::EmitReadingFirst(ThreadLoop& loop, const Chunks& reads) {
  std::vector<llvm::SmallVector<Value*, 4>> values;  // of each iteration of a chunk
  const auto begin = [&](Value* index) {
    values.assign(reads.length(), {});
    for (ir::LoadOp read : reads.reads()) {
      for (int64_t within = 0; within < reads.length(); ++within) {
        MapIndex(dimensions_.size() - 1, index, within);
        values[within].push_back(reads.EmitRead(f_, read, within));
      }
    }
  };
  const auto before = [&](int64_t within) {
    for (auto [read, value] : llvm::zip(reads.reads(), values[within])) f_.Give(read, value);
  };
  const auto after = [&](int64_t within) {
    if (within + 1 < reads.length()) return;
    for (ir::LoadOp read : reads.reads()) f_.Give(read, nullptr);
  };
  EmitInChunks(loop, reads.length(), reads.EmitIsAligned(f_), begin, before, after);
}

void RangeEmitter::Emit(Chunks& chunks) {
  ThreadLoop loop(f_, task_);
  if (chunks.rows() > 1) {
    EmitInPatches(loop, chunks);
    return loop.Finish();
  }
  EmitInChunks(
      loop, chunks.length(), chunks.EmitIsAligned(f_), [](Value*) {}, [](int64_t) {},
      [&](int64_t within) { chunks.DescribeAccesses(f_, within); });
  loop.Finish();
}

// First the chunks of all rows, if they pay, then what is left of them: all of them, if chunks do
// not. Bodies of chunks do not ask for the number of an iteration. `begin` emits what is before a
// chunk whose first index in its row is given, `before` and `after` what is around an iteration.
void RangeEmitter::EmitInChunks(ThreadLoop& loop, int64_t length, Value* pays,
                                llvm::function_ref<void(Value* index)> begin,
                                llvm::function_ref<void(int64_t within)> before,
                                ThreadLoop::Emitted after) {
  const size_t last = dimensions_.size() - 1;
  Value* rows = b_.getInt64(1);
  for (size_t d = 0; d < last; ++d) rows = b_.CreateMul(rows, dimensions_[d].extent);
  rows = IfRuns(rows);
  const Row split = SplitRow(length, pays);
  const auto place = [&](Value* number, Value* in_row) {
    if (last == 0) return number;
    Value* within = nullptr;
    std::tie(number, within) = Divide(number, in_row);
    MapRow(number, last);
    return within;
  };
  Value* at = nullptr;
  loop.Emit(
      b_.CreateMul(rows, split.count), length,
      [&](Value* number, int64_t within, const SkipUnless&) {
        if (within == 0) {
          Value* chunk = place(number, split.count);
          at = b_.CreateNSWAdd(split.first, b_.CreateNSWMul(chunk, b_.getInt64(length)));
          begin(at);
        }
        MapIndex(last, at, within);
        before(within);
      },
      after);
  loop.Emit(b_.CreateMul(rows, split.left), 1, [&](Value* number, int64_t, const SkipUnless&) {
    MapIndex(last, ColumnOutside(split, place(number, split.left)));
  });
}

RangeEmitter::Row RangeEmitter::SplitRow(int64_t length, Value* pays) {
  const Dimension& row = dimensions_.back();
  Row split;
  Value* zero = b_.getInt64(0);
  split.outside = b_.CreateAnd(b_.CreateNeg(row.lower), b_.getInt64(length - 1));
  Value* inside = b_.CreateSub(row.extent, split.outside);
  split.count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, inside, zero);
  split.count = b_.CreateLShr(split.count, llvm::countr_zero(static_cast<uint64_t>(length)));
  split.count = b_.CreateSelect(pays, split.count, zero);
  split.held = b_.CreateMul(split.count, b_.getInt64(length));
  split.left = b_.CreateSub(row.extent, split.held);
  split.first = b_.CreateAdd(row.lower, split.outside);
  return split;
}

// The index of an iteration by its number among those that are in no chunk of its row.
Value* RangeEmitter::ColumnOutside(const Row& row, Value* within) {
  Value* is_before = b_.CreateICmpSLT(within, row.outside);
  Value* skipped = b_.CreateSelect(is_before, b_.getInt64(0), row.held);
  return b_.CreateNSWAdd(b_.CreateNSWAdd(dimensions_.back().lower, within), skipped);
}

void EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  task->set_kind(proto::TASK_RANGE);
  SetThreads(*state, op, task);
  llvm::Function* function = state->target->NewTaskFunction(state, task->symbol());
  FunctionEmitter f(state, function, IsParallel(op));
  f.DrawFor(number, op.getBody());
  f.trees().set_effects(TreeEffectsOf(op.getBody(), state->kernel, state->functions));
  RangeEmitter emitter(f, op, EmitDimensions(f, op));
  if (const std::optional<int64_t> total = emitter.ConstantTotal()) {
    task->set_constant_bounds(true);
    task->set_end(*total);
  } else {
    SetLength(op, task);
    task->set_items_per_thread(op.getRows().value_or(0));
  }
  Histograms histograms(f, op);
  if (histograms.Pay(emitter.ConstantTotal())) {
    histograms.Describe(task);
    std::optional<Chunks> reads;
    // Random numbers and prints ask for the number of an iteration.
    const bool asks = state->facts.Any(op.getBody(), kDraws | kReports);
    if (histograms.HasAllWrites() && !asks) reads = Chunks::OfReads(op);
    return emitter.Emit(histograms, reads);
  }
  Chunks chunks(op);
  if (chunks.length() == 1 || !emitter.HasRoomFor(chunks.length())) return emitter.Emit();
  // Loops with accumulators have few waves; the order of their sums is that of their iterations.
  if (task->waves() > 1 && ReadsRows(op)) {
    // Blocks in the order of their rows find what neighbours have read in the cache.
    task->set_waves(0);
    const Chunks::Patch patch = chunks.LargestPatch();
    if (patch.rows > 1 && emitter.HasRoomFor(patch)) chunks.Take(patch);
  }
  task->set_items_per_thread(static_cast<uint32_t>(chunks.length() * chunks.rows()));
  emitter.Emit(chunks);
}

}  // namespace kiln::cuda
