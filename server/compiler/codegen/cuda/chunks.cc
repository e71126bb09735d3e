#include "server/compiler/codegen/cuda/chunks.h"

#include <algorithm>

#include "llvm/ADT/bit.h"
#include "llvm/IR/MDBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "server/compiler/codegen/cuda/cuda_target.h"
#include "server/compiler/codegen/struct_plan.h"
#include "server/compiler/dialect/lane_shapes.h"

namespace kiln::cuda {
namespace {

using llvm::Value;

constexpr int64_t kVector = 16;    // bytes of the widest access
constexpr int64_t kMostBytes = 4;  // of one byte, LLVM joins no more
constexpr int64_t kMostOps = 256;  // of a chunk
// Of a patch. LLVM and ptxas take some 30 ms longer for a patch of 500 than for a chunk of it.
constexpr int64_t kMostOpsOfPatch = 768;
// With eight, a stencil of seven points runs a quarter less instructions for an element, but takes
// twice the time to compile, and small grids have half the threads.
constexpr int64_t kMostRows = 4;

// Arithmetic that is a few instructions.
bool IsPlain(mlir::Operation& op) {
  return LibdeviceName(op).empty() &&
         llvm::isa<mlir::arith::ArithDialect, mlir::math::MathDialect>(op.getDialect());
}

// The largest power of two that is at most the number, or 1.
int64_t Within(int64_t number) {
  return static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(number, 1))));
}

}  // namespace

Chunks::Chunks(ir::RangeTaskOp task) : task_(task), kernel_(task->getParentOfType<ir::KernelOp>()) {
  if (task.getNumDims() != 0 && task.getMaxThreads() != 1 && AddBody()) SetLength();
}

// What is behind the first branch may not be run, or for other elements than there are.
Chunks Chunks::OfReads(ir::RangeTaskOp task) {
  Chunks chunks;
  chunks.task_ = task;
  chunks.kernel_ = task->getParentOfType<ir::KernelOp>();
  if (task.getNumDims() == 0) return chunks;
  const LaneShapes shapes(task);
  const auto is_of_loop = [&](mlir::Value index) {
    const mlir::BlockArgument own = ShiftOf(index).index;
    return own && own.getOwner() == &task.getBody().front();
  };
  for (mlir::Operation& op : task.getBody().front()) {
    if (op.getNumRegions() > 0) break;
    auto load = llvm::dyn_cast<ir::LoadOp>(op);
    if (!load || load.getType().isInteger(1)) continue;
    auto global = load.getAddress().getDefiningOp<ir::GlobalOp>();
    if (!global || !llvm::all_of(global.getIndices(), is_of_loop)) continue;
    if (ByteStride(load.getAddress(), shapes, chunks.kernel_) != Bytes(load.getType())) continue;
    if (chunks.Add(global)) chunks.reads_.push_back(load);
  }
  chunks.SetLength();
  return chunks;
}

void Chunks::SetLength() {
  if (accesses_.empty()) return;
  int64_t bytes = 1;
  for (const Access& access : accesses_) bytes = std::max(bytes, access.bytes);
  widest_ = bytes == 1 ? kMostBytes : kVector / bytes;
  length_ = std::min(widest_, Within(kMostOps / CountOps(task_.getBody())));
}

Chunks::Patch Chunks::LargestPatch() {
  const int64_t ops = widest_ * CountOps(task_.getBody());
  return {widest_, std::min(kMostRows, Within(kMostOpsOfPatch / ops))};
}

// False if the body has something that does not belong into chunks.
bool Chunks::AddBody() {
  const LaneShapes shapes(task_);
  const auto is_joined = [&](mlir::Value address, bool writes) {
    if (address.getDefiningOp<ir::TemporaryOp>()) return !writes;
    auto global = address.getDefiningOp<ir::GlobalOp>();
    if (!global) return false;
    const std::optional<int64_t> stride = ByteStride(address, shapes, kernel_);
    if (stride == 0) return !writes;
    return stride == Bytes(global.getType().getPointee()) && Add(global);
  };
  for (mlir::Operation& op : task_.getBody().front().without_terminator()) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      if (!is_joined(load.getAddress(), /*writes=*/false)) return false;
    } else if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) {
      if (!is_joined(store.getAddress(), /*writes=*/true)) return false;
    } else if (!llvm::isa<ir::GlobalOp, ir::TemporaryOp, ir::ArgumentOp, ir::ExtentOp,
                          ir::OuterExtentOp>(op) &&
               !IsPlain(op)) {
      return false;
    }
  }
  return true;
}

// An address that grows by its element from iteration to iteration.
bool Chunks::Add(ir::GlobalOp address) {
  const auto is_known = [&](const Access& access) { return access.address == address.getResult(); };
  if (llvm::any_of(accesses_, is_known)) return true;
  Access access = {address.getResult(), Bytes(address.getType().getPointee()), 0};
  mlir::Attribute storage = kernel_.getStorages()[address.getStorage()];
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(storage)) {
    return AddNdarray(address, array, access);
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storage);
  return dense && AddDense(address, dense, access);
}

bool Chunks::AddNdarray(ir::GlobalOp address, ir::NdarrayAttr array, Access access) {
  // Where a component other than the first one begins depends on the extents.
  if (address.getComponent() != 0) return false;
  const Shifted at = ShiftOf(address.getIndices().back());
  if (at.index != task_.getIndices().back()) return false;
  access.place = at.by;
  accesses_.push_back(access);
  bases_.insert(array.getSlot());
  const Row row = {array.getExtentSlot(array.getAxes() - 1), access.bytes};
  if (array.getAxes() > 1 && !llvm::is_contained(array_rows_, row)) array_rows_.push_back(row);
  return true;
}

bool Chunks::AddDense(ir::GlobalOp address, ir::DenseAttr dense, Access access) {
  const auto component = static_cast<int>(address.getComponent());
  const auto base = static_cast<int>(dense.getComponentBase(component));
  int along = -1;  // the axis that the loop's innermost index runs along
  for (auto [axis, index] : llvm::enumerate(address.getIndices())) {
    const Shifted at = ShiftOf(index);
    if (at.index != task_.getIndices().back()) continue;
    along = static_cast<int>(axis);
    access.place += at.by - dense.getAxisOffset(along);
  }
  if (along < 0 || dense.getComponentOffset(component) % access.bytes != 0) return false;
  access.place += dense.getComponentOffset(component) / access.bytes;
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    // Rows begin at multiples of a vector.
    const bool is_own = dense.getDigitAxis(d) == along;
    if (!is_own && dense.getDigitStride(base, d) % kVector != 0) return false;
  }
  accesses_.push_back(access);
  bases_.insert(dense.getSlot() + base);
  return true;
}

Value* Chunks::EmitIsAligned(FunctionEmitter& f) const {
  llvm::IRBuilder<>& b = f.builder();
  Value* bits = b.getInt64(0);
  for (const int64_t slot : bases_) {
    bits = b.CreateOr(bits, b.CreatePtrToInt(f.Argument(slot, b.getPtrTy()), b.getInt64Ty()));
  }
  for (const Row& row : array_rows_) {
    Value* extent = f.Argument(row.slot, b.getInt64Ty());
    bits = b.CreateOr(bits, b.CreateMul(extent, b.getInt64(row.bytes)));
  }
  return b.CreateIsNull(b.CreateAnd(bits, b.getInt64(kVector - 1)));
}

void Chunks::MakeScopes(llvm::LLVMContext& context) {
  llvm::MDBuilder md(context);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain();
  llvm::SmallVector<llvm::Metadata*> all;
  const int64_t iterations = length_ * rows_;
  for (int64_t i = 0; i < iterations; ++i) all.push_back(md.createAnonymousAliasScope(domain));
  for (int64_t i = 0; i < iterations; ++i) {
    llvm::SmallVector<llvm::Metadata*> others = all;
    others.erase(others.begin() + i);
    scopes_.push_back({llvm::MDNode::get(context, all[i]), llvm::MDNode::get(context, others)});
  }
}

// Bases are aligned to a vector, and chunks to their own bytes.
llvm::Align Chunks::AlignOf(const Access& access, int64_t number) const {
  const uint64_t at = static_cast<uint64_t>(access.place + number) * access.bytes;
  return llvm::Align(uint64_t{1} << llvm::countr_zero(
                         at | static_cast<uint64_t>(length_ * access.bytes) | kVector));
}

Value* Chunks::EmitRead(FunctionEmitter& f, ir::LoadOp read, int64_t number) const {
  llvm::IRBuilder<>& b = f.builder();
  const auto access =
      llvm::find_if(accesses_, [&](const Access& one) { return one.address == read.getAddress(); });
  return b.CreateAlignedLoad(MemoryType(read.getType(), b.getContext()),
                             f.PointerTo(read.getAddress().getDefiningOp<ir::GlobalOp>()),
                             AlignOf(*access, number));
}

void Chunks::DescribeAccesses(FunctionEmitter& f, int64_t number) {
  using llvm::LLVMContext;
  if (scopes_.empty()) MakeScopes(f.builder().getContext());
  const auto describe = [&](llvm::Instruction* access) {
    for (const auto& [kind, node] : {std::pair(LLVMContext::MD_alias_scope, scopes_[number].own),
                                     std::pair(LLVMContext::MD_noalias, scopes_[number].others)}) {
      access->setMetadata(kind, llvm::MDNode::concatenate(access->getMetadata(kind), node));
    }
  };
  llvm::SmallVector<llvm::StoreInst*> stores;
  for (const Access& access : accesses_) {
    const llvm::Align align = AlignOf(access, number % length_);
    for (llvm::User* user : f.PointerOf(access.address)->users()) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(user);
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (load != nullptr) load->setAlignment(align);
      if (store != nullptr) {
        store->setAlignment(align);
        stores.push_back(store);
      }
      if (load != nullptr || store != nullptr) describe(llvm::cast<llvm::Instruction>(user));
    }
  }
  // In the order of the program: the body is one block.
  llvm::sort(stores, [](auto* one, auto* other) { return one->comesBefore(other); });
  stores_.insert(stores_.end(), stores.begin(), stores.end());
}

// ptxas has no alias scopes: it would not begin to read for a row before the one above is stored.
void Chunks::StoreLast(FunctionEmitter& f) {
  bool stores = false;
  for (mlir::Operation& op : task_.getBody().front()) {
    if (llvm::isa<ir::LoadOp>(op) && stores) return;
    stores |= llvm::isa<ir::StoreOp>(op);
  }
  for (llvm::StoreInst* store : stores_) {
    store->removeFromParent();
    f.builder().Insert(store);
  }
  stores_.clear();
}

}  // namespace kiln::cuda
