#include "server/compiler/codegen/cuda/tiles.h"

#include <algorithm>

#include "common/language/simt_ops.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cuda/gathering.h"
#include "server/compiler/codegen/cuda/simt.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/dialect/atomic_kinds.h"
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
  FindReads(hint.asArrayRef());
  FindUpdates(hint.asArrayRef());
  int64_t room = kMostSharedBytes;
  llvm::erase_if(tiles_, [&](Tile& tile) {
    if (!Finish(&tile, room)) return true;
    room -= tile.cells * tile.CellBytes();
    return false;
  });
  for (Tile& tile : tiles_) {
    tile.memory = AllocateShared(&f.state(), TypeIn(tile), tile.cells);
    if (tile.kind) tile.marks = AllocateShared(&f.state(), b_.getInt8Ty(), tile.cells);
  }
}

void Tiles::FindReads(llvm::ArrayRef<int64_t> hint) {
  // Storages that nothing in the task writes to.
  llvm::DenseMap<int64_t, bool> is_constant;
  task_.getBody().walk([&](ir::LoadOp load) {
    auto global = load.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!global || !f_.trees().FieldOf(global.getStorage())) return;
    const auto storage = static_cast<int64_t>(global.getStorage());
    if (!llvm::is_contained(hint, storage)) return;
    const auto [known, is_new] = is_constant.try_emplace(storage);
    if (is_new) known->second = !IsWritten(task_.getBody(), f_.trees(), global);
    if (known->second) Add(load, global, load.getType(), {});
  });
}

void Tiles::FindUpdates(llvm::ArrayRef<int64_t> hint) {
  // An iteration may ask which cells its own updates have activated.
  if (f_.state().facts.Any(task_.getBody(), kCalls | kTouchesMemory | kQueries)) return;
  // By component: the kind of its updates; nothing if something else happens to it.
  llvm::DenseMap<std::pair<int64_t, int64_t>, std::optional<ir::AtomicKind>> kinds;
  llvm::DenseSet<int64_t> by_number;  // storages whose components are accessed by number
  llvm::SmallVector<ir::AtomicOp> atomics;
  task_.getBody().walk([&](mlir::Operation* op) {
    if (auto component = llvm::dyn_cast<ir::ComponentOp>(op)) {
      by_number.insert(static_cast<int64_t>(component.getStorage()));
    }
    auto global = llvm::dyn_cast<ir::GlobalOp>(op);
    if (!global) return;
    const std::pair component(static_cast<int64_t>(global.getStorage()),
                              static_cast<int64_t>(global.getComponent()));
    for (mlir::Operation* user : global->getUsers()) {
      auto atomic = llvm::dyn_cast<ir::AtomicOp>(user);
      std::optional<ir::AtomicKind> kind;
      if (atomic && atomic.getOld().use_empty() &&
          IsInstruction(atomic.getKind(), atomic.getValue().getType())) {
        kind = KindOfPartials(atomic.getKind());
        atomics.push_back(atomic);
      }
      const auto [known, is_new] = kinds.try_emplace(component, kind);
      if (!is_new && known->second != kind) known->second.reset();
    }
  });
  for (ir::AtomicOp atomic : atomics) {
    auto global = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
    const auto storage = static_cast<int64_t>(global.getStorage());
    ir::TreeFieldAttr field = f_.trees().FieldOf(global.getStorage());
    if (!field || field.getAlias() != 0 || global.getNoActivate() ||
        !llvm::is_contained(hint, storage) || by_number.contains(storage)) {
      continue;
    }
    const std::optional<ir::AtomicKind> kind =
        kinds[{storage, static_cast<int64_t>(global.getComponent())}];
    if (kind) Add(atomic, global, atomic.getValue().getType(), kind);
  }
}

llvm::Type* Tiles::TypeIn(const Tile& tile) { return MemoryType(tile.type, b_.getContext()); }

void Tiles::Add(mlir::Operation* op, ir::GlobalOp address, mlir::Type type,
                std::optional<ir::AtomicKind> kind) {
  Access access{op, address, {}};
  llvm::SmallVector<unsigned, 4> index_of;
  for (mlir::Value value : address.getIndices()) {
    const Shifted at = ShiftOf(value);
    if (!at.index || at.index.getOwner() != &task_.getBody().front() ||
        at.index.getArgNumber() >= static_cast<unsigned>(task_.getNumDims()) ||
        llvm::is_contained(index_of, at.index.getArgNumber())) {
      return;
    }
    index_of.push_back(at.index.getArgNumber());
    access.by.push_back(at.by);
  }
  for (Tile& tile : tiles_) {
    ir::GlobalOp other = tile.accesses[0].address;
    if (other.getStorage() != address.getStorage() ||
        other.getComponent() != address.getComponent() || tile.index_of != index_of) {
      continue;
    }
    for (size_t i = 0; i < access.by.size(); ++i) {
      tile.low[i] = std::min(tile.low[i], access.by[i]);
      tile.high[i] = std::max(tile.high[i], access.by[i]);
    }
    tile.accesses.push_back(std::move(access));
    return;
  }
  Tile& tile = tiles_.emplace_back();
  tile.type = type;
  tile.kind = kind;
  tile.index_of = index_of;
  tile.low = tile.high = access.by;
  tile.accesses.push_back(std::move(access));
}

// False: the tile is too large, or has no cells in common with what other threads access.
bool Tiles::Finish(Tile* tile, int64_t room) {
  const int64_t bytes = tile->CellBytes();
  for (size_t i = 0; i < tile->low.size(); ++i) {
    // Far distances are of programs that read other blocks. As unsigned, no difference overflows.
    const uint64_t reach =
        static_cast<uint64_t>(tile->high[i]) - static_cast<uint64_t>(tile->low[i]);
    if (reach > static_cast<uint64_t>(room)) return false;
    tile->extents.push_back(block_[tile->index_of[i]] + static_cast<int64_t>(reach));
    tile->cells *= tile->extents.back();
    if (tile->cells > room / bytes) return false;
  }
  return tile->accesses.size() > 1;
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

// Emits code for each cell of the tile, by one of the block's threads, at the loop's indices that
// make the tile's first access one of that cell: its code serves as the form of all.
void Tiles::ForEachCell(const Tile& tile, llvm::ArrayRef<Value*> origin,
                        llvm::function_ref<void(Value* number)> emit) {
  Value* thread = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value* threads = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  CountedLoop loop(f_, {"tile", "tile_cell", nullptr, "tile_end"}, thread, b_.getInt64(tile.cells),
                   {}, {}, threads);
  f_.trees().PushScope();
  llvm::SmallVector<Value*, 4> index(origin.begin(), origin.end());
  Value* rest = loop.index();
  for (size_t i = tile.extents.size(); i-- > 0;) {
    Value* digit = rest;
    if (i > 0) {
      digit = b_.CreateURem(rest, b_.getInt64(tile.extents[i]));
      rest = b_.CreateUDiv(rest, b_.getInt64(tile.extents[i]));
    }
    Value*& at = index[tile.index_of[i]];
    at = b_.CreateNSWAdd(at,
                         b_.CreateNSWAdd(digit, b_.getInt64(tile.low[i] - tile.accesses[0].by[i])));
  }
  for (auto [argument, value] : llvm::zip(task_.getIndices(), index)) {
    f_.indices().Define(argument, Leaf(value));
  }
  emit(loop.index());
  f_.trees().PopScope();
  loop.End();
}

// Cells that are not there are zeros, as for the read itself.
void Tiles::EmitLoads(llvm::ArrayRef<Value*> origin) {
  for (const Tile& tile : tiles_) {
    ForEachCell(tile, origin, [&](Value* number) {
      Value* value = nullptr;
      if (tile.kind) {
        value = GatheringIdentity(*tile.kind, tile.type, b_.getContext());
        b_.CreateStore(b_.getInt8(0), b_.CreateInBoundsGEP(b_.getInt8Ty(), tile.marks, number));
      } else {
        value = f_.LoadNow(llvm::cast<ir::LoadOp>(tile.accesses[0].op));
      }
      if (value->getType()->isIntegerTy(1)) value = b_.CreateZExt(value, b_.getInt8Ty());
      b_.CreateStore(value, b_.CreateInBoundsGEP(TypeIn(tile), tile.memory, number));
    });
  }
}

void Tiles::UseAt(llvm::ArrayRef<Value*> origin, llvm::ArrayRef<Value*> index) {
  for (const Tile& tile : tiles_) {
    for (const Access& access : tile.accesses) {
      Value* number = NumberIn(tile, origin, index, access.by);
      Value* cell = b_.CreateInBoundsGEP(TypeIn(tile), tile.memory, number);
      if (auto load = llvm::dyn_cast<ir::LoadOp>(access.op)) {
        f_.ReadFrom(load, cell);
      } else {
        f_.UpdateAt(llvm::cast<ir::AtomicOp>(access.op), cell,
                    b_.CreateInBoundsGEP(b_.getInt8Ty(), tile.marks, number));
      }
    }
  }
}

// Only of cells that iterations have updated: an update makes a cell active.
void Tiles::EmitUpdates(llvm::ArrayRef<Value*> origin) {
  for (const Tile& tile : tiles_) {
    if (!tile.kind) continue;
    ForEachCell(tile, origin, [&](Value* number) {
      llvm::BasicBlock* update = f_.NewBlock("update");
      llvm::BasicBlock* updated = f_.NewBlock("updated");
      Value* mark =
          b_.CreateLoad(b_.getInt8Ty(), b_.CreateInBoundsGEP(b_.getInt8Ty(), tile.marks, number));
      b_.CreateCondBr(b_.CreateIsNotNull(mark), update, updated);
      b_.SetInsertPoint(update);
      f_.trees().PushScope();
      f_.AtomicNow(
          llvm::cast<ir::AtomicOp>(tile.accesses[0].op), *tile.kind,
          b_.CreateLoad(TypeIn(tile), b_.CreateInBoundsGEP(TypeIn(tile), tile.memory, number)));
      f_.trees().PopScope();
      b_.CreateBr(updated);
      b_.SetInsertPoint(updated);
    });
  }
}

}  // namespace kiln::cuda
