// Reads of fields that a program names in ti.block_local: the threads of a block load the cells
// around their block of the loop once, into shared memory. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_TILES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_TILES_H_

#include <utility>
#include <vector>

#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/struct_plan.h"

namespace kiln::cuda {

// What the tiles of a struct task hold, and their code. A component has a tile if the task reads it
// at constant distances from the loop's indices and nothing in the task writes to it: then it does
// not matter when the cells are read. All other accesses go to the device's memory, and so do those
// of tiles that find no room.
class Tiles {
 public:
  Tiles(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan);

  bool empty() const { return tiles_.empty(); }
  // Emits the loads of all tiles, by all threads of the block, for the block of cells that begins
  // at `origin`, by index of the loop (i64). Other threads may read them after a barrier.
  void EmitLoads(llvm::ArrayRef<llvm::Value*> origin);
  // Lets the task's body read from the tiles, at the indices of the loop (i64).
  void UseAt(llvm::ArrayRef<llvm::Value*> origin, llvm::ArrayRef<llvm::Value*> index);

 private:
  struct Read {
    ir::LoadOp load;
    llvm::SmallVector<int64_t, 4> by;  // from the loop's index, by index of the field
  };
  struct Tile {
    mlir::Type type;
    std::vector<Read> reads;                  // of one component
    llvm::SmallVector<unsigned, 4> index_of;  // the loop's index, by index of the field
    llvm::SmallVector<int64_t, 4> low, high;  // of the distances
    llvm::SmallVector<int64_t, 4> extents;
    int64_t cells = 1;
    llvm::Value* memory = nullptr;
  };

  void AddRead(ir::LoadOp load);
  bool Finish(Tile* tile, int64_t room);
  // The number of the cell at a distance from the loop's index, in the tile.
  llvm::Value* NumberIn(const Tile& tile, llvm::ArrayRef<llvm::Value*> origin,
                        llvm::ArrayRef<llvm::Value*> index, llvm::ArrayRef<int64_t> by);
  llvm::Type* TypeIn(const Tile& tile);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  llvm::SmallVector<int64_t, 4> block_;  // cells of a block along each index of the loop
  std::vector<Tile> tiles_;
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_TILES_H_
