#include "server/compiler/codegen/cuda/histograms.h"

#include <optional>

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"
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
// Iterations for each cell, of all blocks. With fewer, clearing the cells and handing them on would
// cost more than it saves.
constexpr int64_t kLeastUpdates = 64;

// The cells of a base of the field, if its memory is nothing but numbers of one type, and their
// number is known.
std::optional<int64_t> CellsOf(ir::DenseAttr dense, int base, mlir::Type type) {
  int64_t bytes = 0;
  for (auto [c, own] : llvm::enumerate(dense.getTypes().getAsValueRange<mlir::TypeAttr>())) {
    if (dense.getComponentBase(static_cast<int>(c)) != base) continue;
    if (own != type) return std::nullopt;
    bytes += Bytes(type);
  }
  // From the innermost digit outwards: each step is all of what is inside.
  for (int d = dense.getNumDigits() - 1; d >= 0; --d) {
    const int64_t extent = dense.getDigitExtent(d);
    if (dense.getDigitStride(base, d) != bytes || extent <= 0) return std::nullopt;
    if (extent > kMostBytes / bytes) return std::nullopt;
    bytes *= extent;
  }
  return bytes / Bytes(type);
}

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
  llvm::erase_if(fields_, [&](const Field& field) { return !IsUpdatedOnly(field); });
  int64_t bytes = 0;
  for (const Field& field : fields_) bytes += field.cells * Bytes(field.type);
  return bytes <= kMostBytes;
}

bool Histograms::Add(ir::AtomicOp atomic) {
  auto global = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
  if (!global || !atomic.getOld().use_empty()) return false;
  const mlir::Type type = atomic.getValue().getType();
  if (!IsInstruction(atomic.getKind(), type)) return false;
  const auto storage = static_cast<int64_t>(global.getStorage());
  ir::KernelOp kernel = f_.state().kernel;
  auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[storage]);
  if (!dense || dense.getAlias() != 0) return false;
  const int base =
      static_cast<int>(dense.getComponentBase(static_cast<int>(global.getComponent())));
  const ir::AtomicKind kind = KindOfPartials(atomic.getKind());
  for (Field& field : fields_) {
    if (field.storage != storage || field.base != base) continue;
    // Of another kind, it stays outside, and so does the field (IsUpdatedOnly).
    if (field.kind == kind && field.type == type) field.atomics.push_back(atomic);
    return true;
  }
  const std::optional<int64_t> cells = CellsOf(dense, base, type);
  if (!cells) return false;
  fields_.push_back({storage, base, kind, type, *cells, {atomic}});
  return true;
}

// Whether the task reaches the field's memory by the field's atomics alone.
bool Histograms::IsUpdatedOnly(const Field& field) {
  ir::KernelOp kernel = f_.state().kernel;
  auto dense = llvm::cast<ir::DenseAttr>(kernel.getStorages()[field.storage]);
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
                    dense.getComponentBase(static_cast<int>(global.getComponent())) != field.base) {
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
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* header = f_.NewBlock("bins");
  BasicBlock* body = f_.NewBlock("bin");
  BasicBlock* exit = f_.NewBlock("bins_end");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* cell = b_.CreatePHI(b_.getInt64Ty(), 2);
  cell->addIncoming(thread, before);
  b_.CreateCondBr(b_.CreateICmpSLT(cell, b_.getInt64(field.cells)), body, exit);
  b_.SetInsertPoint(body);
  emit(cell);
  cell->addIncoming(b_.CreateNSWAdd(cell, threads), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
}

int64_t Histograms::Cells() const {
  int64_t cells = 0;
  for (const Field& field : fields_) cells += field.cells;
  return cells;
}

bool Histograms::Pay(std::optional<int64_t> total) const {
  return !fields_.empty() && total.value_or(INT64_MAX) >= Cells() * kLeastUpdates;
}

void Histograms::Describe(proto::Task* task) {
  // Threads of a block, and iterations of it for each cell: more of them share what it costs to
  // clear the cells and to hand them on. 256 threads have enough registers, whatever they need.
  constexpr uint32_t kThreads = 256;
  constexpr int64_t kLeastOfBlock = 4;
  if (task_.getBlockDim() == 0) task->set_block_dim(kThreads);
  task->set_resident(true);
  task->set_items_per_thread(
      static_cast<uint32_t>(llvm::divideCeil(Cells() * kLeastOfBlock, task->block_dim())));
}

void Histograms::EmitBegin(Value* total) {
  for (Field& field : fields_) {
    field.memory =
        AllocateShared(&f_.state(), MemoryType(field.type, b_.getContext()), field.cells);
  }
  pays_ = b_.CreateICmpSGE(total, b_.getInt64(Cells() * kLeastUpdates));
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
  for (const Field& field : fields_) {
    ir::KernelOp kernel = f_.state().kernel;
    auto dense = llvm::cast<ir::DenseAttr>(kernel.getStorages()[field.storage]);
    Value* base = f_.Argument(dense.getSlot() + field.base, b_.getPtrTy());
    // As a pointer to shared memory: LLVM would make one atomic of that in the copy and that in the
    // field, on a pointer to any memory, which takes longer.
    Value* memory = field.memory->stripPointerCasts();
    for (ir::AtomicOp atomic : field.atomics) {
      f_.UpdateCopy(atomic, {pays_, base, memory, field.cells * Bytes(field.type)});
    }
  }
}

void Histograms::EmitEnd() {
  BasicBlock* flush = f_.NewBlock("flush");
  BasicBlock* end = f_.NewBlock("flush_end");
  b_.CreateCondBr(pays_, flush, end);
  b_.SetInsertPoint(flush);
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  for (const Field& field : fields_) {
    ir::KernelOp kernel = f_.state().kernel;
    auto dense = llvm::cast<ir::DenseAttr>(kernel.getStorages()[field.storage]);
    Value* base = f_.Argument(dense.getSlot() + field.base, b_.getPtrTy());
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
