#include "server/compiler/codegen/cuda/histograms.h"

#include <optional>

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cuda/gathering.h"
#include "server/compiler/codegen/cuda/simt.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/long_loops.h"

namespace kiln::cuda {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr int64_t kMostBytes = 32 << 10;
// The memory for a field or an array whose extent is not known: blocks have it without need if it
// is large.
constexpr int64_t kBytesOfUnknown = 16 << 10;
// More updates of these are rather those of large ones, for which each would be code twice.
constexpr size_t kMostOfUnknown = 4;
// So are those of fields whose rows are large: the memory is for at least so many.
constexpr int64_t kLeastRows = 8;
// Iterations for each cell, of all blocks. With fewer, clearing the cells and handing them on would
// cost more than it saves.
constexpr int64_t kLeastUpdates = 64;

bool LeavesEarly(const FunctionFacts& facts, ir::RangeTaskOp task) {
  if (facts.Any(task.getBody(), kCalls | kFails | kTapes | kTouchesMemory)) return true;
  return task.getBody()
      .walk([](mlir::Operation* op) {
        const bool leaves = llvm::isa<ir::ReturnOp>(op) || Looks(*op);
        return leaves ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace

Histograms::Histograms(FunctionEmitter& f, ir::RangeTaskOp task)
    : f_(f), b_(f.builder()), task_(task) {
  if (!IsParallel(task) || !task.getInits().empty() || WorksTogether(f.state().kernel, task) ||
      LeavesEarly(f.state().facts, task) || !FindFields()) {
    fields_.clear();
  }
}

// False if nothing can be gathered.
bool Histograms::FindFields() {
  task_.getBody().walk([&](ir::AtomicOp atomic) { Add(atomic); });
  llvm::erase_if(fields_, [&](const Field& field) {
    return !IsUpdatedOnly(field) || (field.count.slot && field.atomics.size() > kMostOfUnknown);
  });
  return MakeRoom();
}

// Divides what the fields of known sizes leave of a block's memory among the others.
bool Histograms::MakeRoom() {
  int64_t known = 0, unknown = 0;
  for (const Field& field : fields_) {
    if (field.count.slot) {
      ++unknown;
    } else {
      known += field.count.each * Bytes(field.type);
    }
  }
  if (known > kMostBytes) return false;
  const int64_t bytes = unknown > 0 ? std::min(kBytesOfUnknown, (kMostBytes - known) / unknown) : 0;
  llvm::erase_if(fields_, [&](Field& field) {
    const int64_t each = field.count.each;
    const int64_t rows = bytes / (each * Bytes(field.type));
    field.room = field.count.slot ? rows * each : each;
    return field.count.slot && rows < kLeastRows;
  });
  return true;
}

bool Histograms::Add(ir::AtomicOp atomic) {
  auto global = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
  if (!global || !atomic.getOld().use_empty()) return false;
  const mlir::Type type = atomic.getValue().getType();
  if (!IsInstruction(atomic.getKind(), type)) return false;
  const auto storage = static_cast<int64_t>(global.getStorage());
  const std::optional<Cells> count = CellsAt(global, type);
  if (!count) return false;
  auto dense = llvm::dyn_cast<ir::DenseAttr>(f_.state().kernel.getStorages()[storage]);
  const int base =
      dense ? static_cast<int>(dense.getComponentBase(static_cast<int>(global.getComponent()))) : 0;
  const ir::AtomicKind kind = KindOfPartials(atomic.getKind());
  for (Field& field : fields_) {
    if (field.storage != storage || field.base != base) continue;
    // Of another kind, it stays outside, and so does the field (IsUpdatedOnly).
    if (field.kind == kind && field.type == type) field.atomics.push_back(atomic);
    return true;
  }
  fields_.push_back({storage, base, kind, type, *count, {atomic}});
  return true;
}

// Those of a base of the field, if its memory is nothing but numbers of one type.
std::optional<Histograms::Cells> Histograms::CellsOf(ir::DenseAttr dense, int base,
                                                     mlir::Type type) {
  int64_t bytes = 0;
  for (auto [c, own] : llvm::enumerate(dense.getTypes().getAsValueRange<mlir::TypeAttr>())) {
    if (dense.getComponentBase(static_cast<int>(c)) != base) continue;
    if (own != type) return std::nullopt;
    bytes += Bytes(type);
  }
  // From the innermost digit outwards: each step is all of what is inside.
  for (int d = dense.getNumDigits() - 1; d >= 0; --d) {
    const int64_t extent = dense.getDigitExtent(d);
    if (dense.getDigitStride(base, d) != bytes) return std::nullopt;
    if (extent == 0) return Cells{bytes / Bytes(type), dense.getExtentSlot()};
    if (extent > kMostBytes / bytes) return std::nullopt;
    bytes *= extent;
  }
  return Cells{bytes / Bytes(type)};
}

// Of what the address is in, if a block may gather its updates.
std::optional<Histograms::Cells> Histograms::CellsAt(ir::GlobalOp address, mlir::Type type) {
  ir::KernelOp kernel = f_.state().kernel;
  mlir::Attribute storage = kernel.getStorages()[address.getStorage()];
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(storage)) {
    if (dense.getAlias() != 0) return std::nullopt;
    return CellsOf(dense, static_cast<int>(dense.getComponentBase(address.getComponent())), type);
  }
  auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage);
  if (!array || array.getAxes() != 1 || array.getTypes().size() != 1) return std::nullopt;
  for (mlir::Attribute other : kernel.getStorages()) {
    // What an array may share memory with is to be an array, whose end is known.
    auto dense = llvm::dyn_cast<ir::DenseAttr>(other);
    auto field = llvm::dyn_cast<ir::TreeFieldAttr>(other);
    const int64_t alias = dense ? dense.getAlias() : field ? field.getAlias() : 0;
    if (alias != 0 && alias == array.getAlias()) return std::nullopt;
  }
  return Cells{1, array.getExtentSlot(0)};
}

ir::NdarrayAttr Histograms::ArrayOf(const Field& field) const {
  ir::KernelOp kernel = f_.state().kernel;
  return llvm::dyn_cast<ir::NdarrayAttr>(kernel.getStorages()[field.storage]);
}

Value* Histograms::BaseOf(const Field& field) {
  if (auto array = ArrayOf(field)) return f_.Argument(array.getSlot(), b_.getPtrTy());
  ir::KernelOp kernel = f_.state().kernel;
  auto dense = llvm::cast<ir::DenseAttr>(kernel.getStorages()[field.storage]);
  return f_.Argument(dense.getSlot() + field.base, b_.getPtrTy());
}

// The address after the array's last byte.
Value* Histograms::EmitEndOf(ir::NdarrayAttr array) {
  int64_t bytes = 0;
  for (mlir::Type type : array.getTypes().getAsValueRange<mlir::TypeAttr>()) bytes += Bytes(type);
  Value* size = b_.getInt64(bytes);
  for (int axis = 0; axis < static_cast<int>(array.getAxes()); ++axis) {
    size = b_.CreateMul(size, f_.Argument(array.getExtentSlot(axis), b_.getInt64Ty()));
  }
  Value* base = b_.CreatePtrToInt(f_.Argument(array.getSlot(), b_.getPtrTy()), b_.getInt64Ty());
  return b_.CreateAdd(base, size);
}

// Whether the array of storage number `storage` shares no memory with the other arrays: a read of
// these would not see updates that the block has gathered.
Value* Histograms::EmitIsApart(ir::NdarrayAttr array, int64_t storage) {
  Value* is_apart = b_.getTrue();
  if (array.getAlias() == 0) return is_apart;
  const auto begin_of = [&](ir::NdarrayAttr one) {
    return b_.CreatePtrToInt(f_.Argument(one.getSlot(), b_.getPtrTy()), b_.getInt64Ty());
  };
  for (auto [number, attribute] : llvm::enumerate(f_.state().kernel.getStorages())) {
    auto other = llvm::dyn_cast<ir::NdarrayAttr>(attribute);
    if (!other || static_cast<int64_t>(number) == storage || other.getAlias() != array.getAlias()) {
      continue;
    }
    Value* before = b_.CreateICmpULE(EmitEndOf(array), begin_of(other));
    Value* after = b_.CreateICmpULE(EmitEndOf(other), begin_of(array));
    is_apart = b_.CreateAnd(is_apart, b_.CreateOr(before, after));
  }
  return is_apart;
}

// Whether the task reaches the field's memory by the field's atomics alone.
bool Histograms::IsUpdatedOnly(const Field& field) {
  ir::KernelOp kernel = f_.state().kernel;
  auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[field.storage]);
  return !task_.getBody()
              .walk([&](mlir::Operation* op) {
                // Components by number are of any base.
                if (auto component = llvm::dyn_cast<ir::ComponentOp>(op)) {
                  const auto storage = static_cast<int64_t>(component.getStorage());
                  return storage == field.storage ? mlir::WalkResult::interrupt()
                                                  : mlir::WalkResult::advance();
                }
                auto global = llvm::dyn_cast<ir::GlobalOp>(op);
                if (!global || static_cast<int64_t>(global.getStorage()) != field.storage ||
                    (dense && dense.getComponentBase(static_cast<int>(global.getComponent())) !=
                                  field.base)) {
                  return mlir::WalkResult::advance();
                }
                const bool is_own = llvm::all_of(global->getUsers(), [&](mlir::Operation* user) {
                  return llvm::is_contained(field.atomics, llvm::dyn_cast<ir::AtomicOp>(user));
                });
                return is_own ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

// Emits code for each cell of the field, by one of the block's threads.
void Histograms::ForEachCell(const Field& field, llvm::function_ref<void(Value* cell)> emit) {
  Value* thread = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  Value* threads = EmitSpecial(b_, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  CountedLoop loop(f_, {"bins", "bin", nullptr, "bins_end"}, thread, field.cells, {}, {}, threads);
  emit(loop.index());
  loop.End();
}

// Those of fields whose sizes are known.
int64_t Histograms::KnownCells() const {
  int64_t cells = 0;
  for (const Field& field : fields_) {
    if (!field.count.slot) cells += field.room;
  }
  return cells;
}

bool Histograms::Pay(std::optional<int64_t> total) const {
  return !fields_.empty() && total.value_or(INT64_MAX) >= KnownCells() * kLeastUpdates;
}

bool Histograms::HasAllWrites() {
  const auto is_gathered = [&](mlir::Operation* op) {
    auto atomic = llvm::dyn_cast<ir::AtomicOp>(op);
    return atomic && llvm::any_of(fields_, [&](const Field& field) {
             return llvm::is_contained(field.atomics, atomic);
           });
  };
  const auto is_local = [](mlir::Value address) {
    mlir::Operation* array = kiln::ArrayOf(address).getDefiningOp();
    return llvm::isa_and_nonnull<ir::LocalOp, ir::LocalArrayOp>(array);
  };
  return !task_.getBody()
              .walk([&](mlir::Operation* op) {
                const Effects effects = EffectsOf(op);
                const bool is_other = effects.Has(kActivates | kDeactivates) ||
                                      (!is_gathered(op) && !llvm::all_of(effects.writes, is_local));
                return is_other ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
              })
              .wasInterrupted();
}

void Histograms::Describe(proto::Task* task) {
  // Threads of a block, and iterations of it for each cell: more of them share what it costs to
  // clear the cells and to hand them on. 256 threads have enough registers, whatever they need.
  constexpr uint32_t kThreads = 256;
  constexpr int64_t kLeastOfBlock = 4;
  if (task_.getBlockDim() == 0) task->set_block_dim(kThreads);
  task->set_waves(1);
  task->set_items_per_thread(static_cast<uint32_t>(std::max<int64_t>(
      llvm::divideCeil(KnownCells() * kLeastOfBlock, task->block_dim()), kLeastOfBlock)));
}

void Histograms::EmitBegin(Value* total) {
  pays_ = b_.getTrue();
  Value* cells = b_.getInt64(0);
  for (Field& field : fields_) {
    field.memory = AllocateShared(&f_.state(), MemoryType(field.type, b_.getContext()), field.room);
    field.cells = b_.getInt64(field.room);
    if (field.count.slot) {
      Value* extent = f_.Argument(*field.count.slot, b_.getInt64Ty());
      field.cells = b_.CreateMul(extent, b_.getInt64(field.count.each));
      pays_ = b_.CreateAnd(pays_, b_.CreateICmpSLE(field.cells, b_.getInt64(field.room)));
    }
    if (auto array = ArrayOf(field)) {
      pays_ = b_.CreateAnd(pays_, EmitIsApart(array, field.storage));
    }
    cells = b_.CreateAdd(cells, field.cells);
  }
  Value* least = b_.CreateMul(cells, b_.getInt64(kLeastUpdates));
  pays_ = b_.CreateAnd(pays_, b_.CreateICmpSGE(total, least));
  BasicBlock* clear = f_.NewBlock("clear");
  BasicBlock* loop = f_.NewBlock("loop");
  b_.CreateCondBr(pays_, clear, loop);
  b_.SetInsertPoint(clear);
  for (const Field& field : fields_) {
    llvm::Constant* identity = GatheringIdentity(field.kind, field.type, b_.getContext());
    ForEachCell(field, [&](Value* cell) {
      b_.CreateStore(identity, b_.CreateInBoundsGEP(identity->getType(), field.memory, cell));
    });
  }
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  for (Field& field : fields_) {
    // As a pointer to shared memory: LLVM would make one atomic of that in the copy and that in the
    // field, on a pointer to any memory, which takes longer.
    field.copy = {pays_, BaseOf(field), field.memory->stripPointerCasts(),
                  b_.CreateMul(field.cells, b_.getInt64(Bytes(field.type)))};
  }
}

void Histograms::Use(bool is_used) {
  for (Field& field : fields_) {
    field.copy.is_used = b_.getInt1(is_used);
    for (ir::AtomicOp atomic : field.atomics) f_.UpdateCopy(atomic, field.copy);
  }
}

void Histograms::EmitEnd() {
  BasicBlock* flush = f_.NewBlock("flush");
  BasicBlock* end = f_.NewBlock("flush_end");
  b_.CreateCondBr(pays_, flush, end);
  b_.SetInsertPoint(flush);
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  for (const Field& field : fields_) {
    Value* base = BaseOf(field);
    llvm::Constant* identity = GatheringIdentity(field.kind, field.type, b_.getContext());
    llvm::Type* type = identity->getType();
    ForEachCell(field, [&](Value* cell) {
      Value* value = b_.CreateLoad(type, b_.CreateInBoundsGEP(type, field.memory, cell));
      llvm::Type* word = b_.getIntNTy(type->getPrimitiveSizeInBits());
      BasicBlock* changed = f_.NewBlock("changed");
      BasicBlock* next = f_.NewBlock("next_bin");
      b_.CreateCondBr(b_.CreateICmpNE(b_.CreateBitCast(value, word),
                                      llvm::ConstantExpr::getBitCast(identity, word)),
                      changed, next);
      b_.SetInsertPoint(changed);
      f_.state().target->EmitAtomic(b_, field.kind, b_.CreateInBoundsGEP(type, base, cell), value);
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
    });
  }
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

}  // namespace kiln::cuda
