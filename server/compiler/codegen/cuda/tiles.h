// Reads and atomics of fields that a program names in ti.block_local. The threads of a block load
// the cells around their block of the loop once, into shared memory. Or they gather there what they
// add to these cells. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_TILES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_TILES_H_

#include <optional>
#include <utility>
#include <vector>

#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/struct_plan.h"

namespace kiln::cuda {

// What the tiles of a struct task hold, and their code. A component has a tile if the task accesses
// it at constant distances from the loop's indices, in one of two ways. Either the task reads it
// and never writes to it. Or the task only updates it, by atomics of one kind whose old values it
// does not use. Then the time of the access does not matter. All other accesses go to the device's
// memory, and so do those of tiles that find no room.
class Tiles {
 public:
  Tiles(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan);

  bool empty() const { return tiles_.empty(); }
  bool has_updates() const {
    return llvm::any_of(tiles_, [](const Tile& tile) { return tile.kind.has_value(); });
  }
  // Emits what fills all tiles, by all threads of the block, for the block of cells that begins at
  // `origin`, by index of the loop (i64). Other threads may use them after a barrier.
  void EmitLoads(llvm::ArrayRef<llvm::Value*> origin);
  // Lets the task's body use the tiles, at the indices of the loop (i64).
  void UseAt(llvm::ArrayRef<llvm::Value*> origin, llvm::ArrayRef<llvm::Value*> index);
  // Emits the updates of the device's memory by what tiles have gathered. Requires: a barrier since
  // the body.
  void EmitUpdates(llvm::ArrayRef<llvm::Value*> origin);

 private:
  struct Access {
    mlir::Operation* op;  // a load or an atomic
    ir::GlobalOp address;
    llvm::SmallVector<int64_t, 4> by;  // from the loop's index, by index of the field
  };
  struct Tile {
    mlir::Type type;
    std::vector<Access> accesses;             // to one component, all loads or all atomics
    llvm::SmallVector<unsigned, 4> index_of;  // the loop's index, by index of the field
    llvm::SmallVector<int64_t, 4> low, high;  // of the distances
    llvm::SmallVector<int64_t, 4> extents;
    int64_t cells = 1;
    std::optional<ir::AtomicKind> kind;  // of what is gathered; nothing: the tile is read
    llvm::Value* memory = nullptr;
    llvm::Value* marks = nullptr;  // bytes: 1 for each cell that was updated

    // Bytes of shared memory for a cell.
    int64_t CellBytes() const { return Bytes(type) + (kind ? 1 : 0); }
  };

  void Add(mlir::Operation* op, ir::GlobalOp address, mlir::Type type,
           std::optional<ir::AtomicKind> kind);
  void FindReads(llvm::ArrayRef<int64_t> hint);
  void FindUpdates(llvm::ArrayRef<int64_t> hint);
  bool Finish(Tile* tile, int64_t room);
  void ForEachCell(const Tile& tile, llvm::ArrayRef<llvm::Value*> origin,
                   llvm::function_ref<void(llvm::Value* number)> emit);
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
