// Loops in patches of several rows (chunks.h).
#include <tuple>
#include <utility>

#include "llvm/ADT/bit.h"
#include "server/compiler/codegen/cuda/range_emitter.h"

namespace kiln::cuda {

using llvm::Value;
using SkipUnless = ThreadLoop::SkipUnless;

// start + index. With the constant apart, LLVM sees which addresses are neighbours.
RangeEmitter::Sum RangeEmitter::From(Value* start, Value* index) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(start)) {
    return {index, constant->getSExtValue()};
  }
  return {b_.CreateNSWAdd(start, index), 0};
}

// The rows of a patch are of one plane, as the last two dimensions are called here.
RangeEmitter::Planes RangeEmitter::SplitPlanes(const Chunks& chunks) {
  Planes split;
  split.row = SplitRow(chunks.length(), chunks.EmitIsAligned(f_));
  split.count = b_.getInt64(1);
  for (size_t d = 0; d + 2 < dimensions_.size(); ++d) {
    split.count = b_.CreateMul(split.count, dimensions_[d].extent);
  }
  Value* rows = dimensions_[dimensions_.size() - 2].extent;
  split.groups = b_.CreateLShr(rows, llvm::countr_zero(static_cast<uint64_t>(chunks.rows())));
  split.rest = b_.CreateAnd(rows, b_.getInt64(chunks.rows() - 1));
  return split;
}

// First the patches, then what is left of rows and of planes.
void RangeEmitter::EmitInPatches(ThreadLoop& loop, Chunks& chunks) {
  const Planes split = SplitPlanes(chunks);
  f_.set_shares_addresses(true);
  EmitPatches(loop, chunks, split);
  f_.set_shares_addresses(false);
  EmitColumns(loop, chunks.rows(), split);
}

// Straight code for each: its iterations share what they read, and what a thread does before it
// reads is done once a patch.
void RangeEmitter::EmitPatches(ThreadLoop& loop, Chunks& chunks, const Planes& split) {
  const size_t column = dimensions_.size() - 1, row = column - 1;
  const int64_t iterations = chunks.length() * chunks.rows();
  Sum top, left;
  const auto begin = [&](Value* patch) {
    auto [group, chunk] = Divide(patch, split.row.count);
    top = From(dimensions_[row].lower, b_.CreateNSWMul(group, b_.getInt64(chunks.rows())));
    left = From(split.row.first, b_.CreateNSWMul(chunk, b_.getInt64(chunks.length())));
  };
  const auto map = [&](int64_t within) {
    MapIndex(row, top.index, top.more + within / chunks.length());
    MapIndex(column, left.index, left.more + within % chunks.length());
  };
  const auto emitted = [&](int64_t within) {
    chunks.DescribeAccesses(f_, within);
    if (within + 1 == iterations) chunks.StoreLast(f_);
  };
  Value* patches = b_.CreateMul(split.groups, split.row.count);  // of a plane
  if (row == 0) {
    return loop.Emit(
        patches, iterations,
        [&](Value* number, int64_t within, const SkipUnless&) {
          if (within == 0) begin(number);
          map(within);
        },
        emitted);
  }
  const Tiles tiles = TilePlanes(split.count, patches);
  loop.Emit(
      tiles.total, iterations,
      [&](Value* number) {
        const Place at = InTile(tiles, number);
        MapRow(at.row, row);
        begin(at.column);
        return b_.CreateAnd(b_.CreateICmpSLT(at.row, split.count),
                            b_.CreateICmpSLT(at.column, patches));
      },
      [&](Value*, int64_t within, const SkipUnless&) { map(within); }, emitted);
}

// Tiles of 32 patches of some planes that follow each other, a warp for each plane. The warps of a
// block then share what they read of the planes beside theirs: a stencil of seven points reads two
// rows from the second cache for each that it writes, and without tiles three and a half. Tiles at
// the ends are not full.
RangeEmitter::Tiles RangeEmitter::TilePlanes(Value* planes, Value* patches) {
  constexpr uint64_t kPlanes = 4;
  constexpr int64_t kLeast = 16;  // of fewer planes, tiles would miss too many
  static_assert(kPlanes * kWarp <= kUsualBlock);
  Tiles tiles;
  tiles.planes = b_.CreateSelect(b_.CreateICmpSGE(planes, b_.getInt64(kLeast)),
                                 b_.getInt64(llvm::CTLog2<kPlanes>()), b_.getInt64(0));
  tiles.of_plane = b_.CreateLShr(b_.CreateAdd(patches, b_.getInt64(kWarp - 1)), kWarpBits);
  Value* more = b_.CreateSub(b_.CreateShl(b_.getInt64(1), tiles.planes), b_.getInt64(1));
  Value* high = b_.CreateLShr(b_.CreateAdd(planes, more), tiles.planes);
  tiles.total = b_.CreateShl(b_.CreateMul(high, tiles.of_plane),
                             b_.CreateAdd(tiles.planes, b_.getInt64(kWarpBits)));
  return tiles;
}

// The plane, and the patch in it.
RangeEmitter::Place RangeEmitter::InTile(const Tiles& tiles, Value* number) {
  Value* lane = b_.CreateAnd(number, b_.getInt64(kWarp - 1));
  Value* warp = b_.CreateLShr(number, kWarpBits);
  Value* tile = b_.CreateLShr(warp, tiles.planes);
  Value* in_tile = b_.CreateSub(warp, b_.CreateShl(tile, tiles.planes));
  auto [high, beside] = Divide(tile, tiles.of_plane);
  return {b_.CreateAdd(b_.CreateShl(high, tiles.planes), in_tile),
          b_.CreateAdd(b_.CreateShl(beside, kWarpBits), lane)};
}

// Columns, each as high as a patch: of the rows of patches what is in no chunk, and all of a
// plane's last rows, which are too few for a patch.
void RangeEmitter::EmitColumns(ThreadLoop& loop, int64_t rows, const Planes& split) {
  const size_t column = dimensions_.size() - 1, row = column - 1;
  Value* zero = b_.getInt64(0);
  Value* height = b_.getInt64(rows);
  // Of a plane: beside its patches, and below them.
  Value* beside = b_.CreateMul(split.groups, split.row.left);
  Value* below = b_.CreateSelect(b_.CreateIsNull(split.rest), zero, dimensions_[column].extent);
  Value* columns = b_.CreateAdd(beside, below);
  Value *top = nullptr, *at = nullptr;
  loop.EmitUneven(
      b_.CreateMul(split.count, columns),
      [&](Value* number) {
        if (row > 0) {
          Value* plane = nullptr;
          std::tie(plane, number) = Divide(number, columns);
          MapRow(plane, row);
        }
        Value* is_beside = b_.CreateICmpSLT(number, beside);
        // There may be none beside.
        Value* left =
            b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, split.row.left, b_.getInt64(1));
        auto [group, within] = Divide(number, left);
        group = b_.CreateSelect(is_beside, group, split.groups);
        top = b_.CreateNSWAdd(dimensions_[row].lower, b_.CreateNSWMul(group, height));
        Value* among_all = b_.CreateNSWAdd(dimensions_[column].lower, b_.CreateSub(number, beside));
        at = b_.CreateSelect(is_beside, ColumnOutside(split.row, within), among_all);
        return b_.CreateSelect(is_beside, height, split.rest);
      },
      [&](Value* within) {
        MapIndex(row, b_.CreateNSWAdd(top, within));
        MapIndex(column, at);
      });
}

}  // namespace kiln::cuda
