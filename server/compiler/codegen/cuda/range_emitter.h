// The code of a range task: threads take single iterations, chunks or patches. Private to this
// folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_RANGE_EMITTER_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_RANGE_EMITTER_H_

#include <optional>
#include <utility>
#include <vector>

#include "server/compiler/codegen/cuda/chunks.h"
#include "server/compiler/codegen/cuda/histograms.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/codegen/dimensions.h"

namespace kiln::cuda {

// Of one task. One of the functions Emit is called, once.
class RangeEmitter {
 public:
  RangeEmitter(FunctionEmitter& f, ir::RangeTaskOp task, std::vector<Dimension> dimensions)
      : f_(f), b_(f.builder()), task_(task), dimensions_(std::move(dimensions)), total_(Total()) {}

  // The number of iterations, if it is constant.
  std::optional<int64_t> ConstantTotal() const;
  // Whether there is enough to do for threads that take so many iterations at a time.
  bool HasRoomFor(int64_t length) const;
  bool HasRoomFor(const Chunks::Patch& patch) const;
  // By chunks of several iterations, or by patches of these.
  void Emit(Chunks& chunks);
  // By chunks, too, if reads are given, which may be made first.
  void Emit(Histograms& histograms, const std::optional<Chunks>& reads);
  void Emit();

 private:
  using Value = llvm::Value;

  Value* Total();
  Value* Narrow(Value* number, unsigned bits);
  std::pair<Value*, Value*> Divide(Value* number, Value* by);
  void MapIndex(size_t dimension, Value* index, int64_t more = 0);
  void MapRow(Value* row, size_t dimensions);
  // An iteration, its row among all rows and its number in the row, or what is numbered as these.
  struct Place {
    Value *row, *column;
  };
  Place InTiles(Value* number);
  bool HasTiles() const;
  void EmitEach(ThreadLoop& loop);
  void EmitReadingFirst(ThreadLoop& loop, const Chunks& reads);
  // The count, but 0 if loops that are emitted now do not run.
  Value* IfRuns(Value* count);
  // Numbers of iterations of each row.
  struct Row {
    Value* outside;  // before the first chunk
    Value* count;    // of chunks
    Value* held;     // in chunks
    Value* left;     // in none
    Value* first;    // the index where the first chunk begins
  };
  Row SplitRow(int64_t length, Value* pays);
  Value* ColumnOutside(const Row& row, Value* within);
  void EmitInChunks(ThreadLoop& loop, int64_t length, Value* pays,
                    llvm::function_ref<void(Value* index)> begin,
                    llvm::function_ref<void(int64_t within)> before, ThreadLoop::Emitted after);

  // range_patches.cc
  void EmitInPatches(ThreadLoop& loop, Chunks& chunks);
  // An index: a value and a constant.
  struct Sum {
    Value* index;
    int64_t more;
  };
  Sum From(Value* start, Value* index);
  struct Planes {
    Row row;
    Value* count;   // of planes
    Value* groups;  // of rows, as many as a patch has, in a plane
    Value* rest;    // rows in no group
  };
  Planes SplitPlanes(const Chunks& chunks);
  struct Tiles {
    Value* planes;    // of a tile, as the power of two
    Value* of_plane;  // tiles beside each other
    Value* total;     // patches of all tiles
  };
  Tiles TilePlanes(Value* planes, Value* patches);
  Place InTile(const Tiles& tiles, Value* number);
  void EmitPatches(ThreadLoop& loop, Chunks& chunks, const Planes& split);
  void EmitColumns(ThreadLoop& loop, int64_t rows, const Planes& split);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  std::vector<Dimension> dimensions_;
  unsigned bits_ = 64;  // that hold each number of an iteration
  Value* total_;
  Value* runs_ = nullptr;  // an i1: whether loops that are emitted now run; null: they do
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_RANGE_EMITTER_H_
