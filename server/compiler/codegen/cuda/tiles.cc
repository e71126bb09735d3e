#include "server/compiler/codegen/cuda/tiles.h"

#include <algorithm>

#include "common/language/simt_ops.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/cuda/simt.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/dialect/block_local.h"

namespace kiln::cuda {

using llvm::Value;

Tiles::Tiles(FunctionEmitter& f, ir::RangeTaskOp task, const StructPlan& plan)
    : f_(f), b_(f.builder()), task_(task) {
  const auto hint = task->getAttrOfType<mlir::DenseI64ArrayAttr>(kBlockLocalAttribute);
  // Threads that work together, or combine sums at the end, do so in loops of another form.
  if (!hint || plan.slices || !IsParallel(task) || !task.getInits().empty() ||
      WorksTogether(f.state().kernel, task)) {
    return;
  }
  // An iteration that makes cells inactive reads zeros from then on.
  if (f.state().facts.Any(task.getBody(), kDeactivates)) return;
  for (int i = 0; i < task.getNumDims(); ++i) {
    const int64_t axis = plan.field.getAxis(i);
    block_.push_back(axis < 0 ? 1
                              : plan.tree.getAxisExtent(plan.field.getNode(), axis) /
                                    plan.tree.getAxisExtent(plan.node, axis));
  }
  // Storages that nothing in the task writes to.
  llvm::DenseMap<int64_t, bool> is_constant;
  task.getBody().walk([&](ir::LoadOp load) {
    auto global = load.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!global || !f.trees().FieldOf(global.getStorage())) return;
    const auto storage = static_cast<int64_t>(global.getStorage());
    if (!llvm::is_contained(hint.asArrayRef(), storage)) return;
    const auto [known, is_new] = is_constant.try_emplace(storage);
    if (is_new) known->second = !IsWritten(task.getBody(), f.trees(), global);
    if (known->second) AddRead(load);
  });
  int64_t room = kMostSharedBytes;
  llvm::erase_if(tiles_, [&](Tile& tile) {
    if (!Finish(&tile, room)) return true;
    room -= tile.cells * Bytes(tile.type);
    return false;
  });
  for (Tile& tile : tiles_) {
    tile.memory = AllocateShared(&f.state(), TypeIn(tile), tile.cells);
  }
}

llvm::Type* Tiles::TypeIn(const Tile& tile) { return MemoryType(tile.type, b_.getContext()); }

void Tiles::AddRead(ir::LoadOp load) {
  auto global = load.getAddress().getDefiningOp<ir::GlobalOp>();
  Read read{load, {}};
  llvm::SmallVector<unsigned, 4> index_of;
  for (mlir::Value value : global.getIndices()) {
    const Shifted at = ShiftOf(value);
    if (!at.index || at.index.getOwner() != &task_.getBody().front() ||
        at.index.getArgNumber() >= static_cast<unsigned>(task_.getNumDims()) ||
        llvm::is_contained(index_of, at.index.getArgNumber())) {
      return;
    }
    index_of.push_back(at.index.getArgNumber());
    read.by.push_back(at.by);
  }
  for (Tile& tile : tiles_) {
    auto other = tile.reads[0].load.getAddress().getDefiningOp<ir::GlobalOp>();
    if (other.getStorage() != global.getStorage() ||
        other.getComponent() != global.getComponent() || tile.index_of != index_of) {
      continue;
    }
    for (size_t i = 0; i < read.by.size(); ++i) {
      tile.low[i] = std::min(tile.low[i], read.by[i]);
      tile.high[i] = std::max(tile.high[i], read.by[i]);
    }
    tile.reads.push_back(std::move(read));
    return;
  }
  Tile& tile = tiles_.emplace_back();
  tile.type = load.getType();
  tile.index_of = index_of;
  tile.low = tile.high = read.by;
  tile.reads.push_back(std::move(read));
}

// False: the tile is too large, or has no cells in common with what other threads read.
bool Tiles::Finish(Tile* tile, int64_t room) {
  const int64_t bytes = Bytes(tile->type);
  for (size_t i = 0; i < tile->low.size(); ++i) {
    // Far distances are of programs that read other blocks. As unsigned, no difference overflows.
    const uint64_t reach =
        static_cast<uint64_t>(tile->high[i]) - static_cast<uint64_t>(tile->low[i]);
    if (reach > static_cast<uint64_t>(room)) return false;
    tile->extents.push_back(block_[tile->index_of[i]] + static_cast<int64_t>(reach));
    tile->cells *= tile->extents.back();
    if (tile->cells > room / bytes) return false;
  }
  return tile->reads.size() > 1;
}

Value* Tiles::NumberIn(const Tile& tile, llvm::ArrayRef<Value*> origin,
                       llvm::ArrayRef<Value*> index, llvm::ArrayRef<int64_t> by) {
  Value* number = b_.getInt64(0);
  for (size_t i = 0; i < by.size(); ++i) {
    Value* cell = b_.CreateNSWSub(index[tile.index_of[i]], origin[tile.index_of[i]]);
    cell = b_.CreateNSWAdd(cell, b_.getInt64(by[i] - tile.low[i]));
    number = b_.CreateNSWAdd(b_.CreateNSWMul(number, b_.getInt64(tile.extents[i])), cell);
  }
  return number;
}

// The first read of a tile serves as the form of all: its code runs at the indices that make it
// read each cell of the tile. Cells that are not there are zeros, as for the read itself.
void Tiles::EmitLoads(llvm::ArrayRef<Value*> origin) {
  Value* thread = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value* threads = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  for (const Tile& tile : tiles_) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* header = f_.NewBlock("tile");
    llvm::BasicBlock* body = f_.NewBlock("tile_cell");
    llvm::BasicBlock* exit = f_.NewBlock("tile_end");
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    llvm::PHINode* number = b_.CreatePHI(b_.getInt64Ty(), 2);
    number->addIncoming(thread, before);
    b_.CreateCondBr(b_.CreateICmpSLT(number, b_.getInt64(tile.cells)), body, exit);
    b_.SetInsertPoint(body);
    f_.trees().PushScope();
    llvm::SmallVector<Value*, 4> index(origin.begin(), origin.end());
    Value* rest = number;
    for (size_t i = tile.extents.size(); i-- > 0;) {
      Value* digit = rest;
      if (i > 0) {
        digit = b_.CreateURem(rest, b_.getInt64(tile.extents[i]));
        rest = b_.CreateUDiv(rest, b_.getInt64(tile.extents[i]));
      }
      Value*& at = index[tile.index_of[i]];
      at = b_.CreateNSWAdd(at,
                           b_.CreateNSWAdd(digit, b_.getInt64(tile.low[i] - tile.reads[0].by[i])));
    }
    for (auto [argument, value] : llvm::zip(task_.getIndices(), index)) {
      f_.indices().Define(argument, Leaf(value));
    }
    ir::LoadOp load = tile.reads[0].load;
    Value* value = f_.LoadNow(load);
    if (value->getType()->isIntegerTy(1)) value = b_.CreateZExt(value, b_.getInt8Ty());
    b_.CreateStore(value, b_.CreateInBoundsGEP(TypeIn(tile), tile.memory, number));
    f_.trees().PopScope();
    number->addIncoming(b_.CreateNSWAdd(number, threads), b_.GetInsertBlock());
    b_.CreateBr(header);
    b_.SetInsertPoint(exit);
  }
}

void Tiles::UseAt(llvm::ArrayRef<Value*> origin, llvm::ArrayRef<Value*> index) {
  for (const Tile& tile : tiles_) {
    for (const Read& read : tile.reads) {
      f_.ReadFrom(read.load, b_.CreateInBoundsGEP(TypeIn(tile), tile.memory,
                                                  NumberIn(tile, origin, index, read.by)));
    }
  }
}

}  // namespace kiln::cuda
