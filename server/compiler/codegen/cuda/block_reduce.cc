#include "server/compiler/codegen/cuda/block_reduce.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/cuda/shared_memory.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

using llvm::Value;

uint32_t WarpsOf(ir::RangeTaskOp task) { return BlockOf(task) / kWarp; }

// What an atomic that subtracts takes in is a sum.
ir::AtomicKind KindOfPartials(ir::AtomicKind kind) {
  if (kind == ir::AtomicKind::subi) return ir::AtomicKind::addi;
  return kind == ir::AtomicKind::subf ? ir::AtomicKind::addf : kind;
}

// The value of the lane `distance` above; of the last lanes, their own.
Value* FromAbove(llvm::IRBuilder<>& b, Value* value, unsigned distance) {
  const auto shuffle = [&](Value* word) -> Value* {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_down_i32, {},
                             {b.getInt32(~0u), word, b.getInt32(distance), b.getInt32(kWarp - 1)});
  };
  llvm::Type* type = value->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  Value* whole = b.CreateBitCast(value, b.getIntNTy(bits));
  Value* taken;
  if (bits <= 32) {
    taken = b.CreateTrunc(shuffle(b.CreateZExt(whole, b.getInt32Ty())), b.getIntNTy(bits));
  } else {
    Value* low = shuffle(b.CreateTrunc(whole, b.getInt32Ty()));
    Value* high = shuffle(b.CreateTrunc(b.CreateLShr(whole, 32), b.getInt32Ty()));
    taken = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()),
                       b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  }
  return b.CreateBitCast(taken, type);
}

}  // namespace

std::optional<llvm::SmallVector<ir::AtomicKind, 4>> CombiningKinds(ir::RangeTaskOp task) {
  llvm::SmallVector<ir::AtomicKind, 4> kinds;
  int64_t bytes = 0;
  for (mlir::BlockArgument total : task.getFinish().front().getArguments()) {
    bytes += Bytes(total.getType()) * WarpsOf(task);
    if (!total.hasOneUse()) return std::nullopt;
    auto atomic = llvm::dyn_cast<ir::AtomicOp>(*total.user_begin());
    if (!atomic || atomic.getValue() != total || atomic.getPairOffset()) return std::nullopt;
    kinds.push_back(KindOfPartials(atomic.getKind()));
  }
  // In the order of blocks, a block's values are combined, and then those of blocks.
  constexpr int64_t kTimes = 2, kRest = 1024;
  if (kTimes * bytes > kMostSharedBytes - kRest) return std::nullopt;
  return kinds;
}

llvm::SmallVector<Value*, 4> EmitBlockReduction(FunctionEmitter& f, ir::RangeTaskOp task,
                                                llvm::ArrayRef<ir::AtomicKind> kinds,
                                                llvm::ArrayRef<Value*> values,
                                                llvm::BasicBlock* others) {
  llvm::IRBuilder<>& b = f.builder();
  namespace I = llvm::Intrinsic;
  llvm::SmallVector<Value*, 4> totals(values.begin(), values.end());
  // The same tree in every run, so that floats are rounded alike.
  const auto reduce_warp = [&] {
    for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
      for (auto [total, kind] : llvm::zip(totals, kinds)) {
        total = f.Combine(kind, total, FromAbove(b, total, distance));
      }
    }
  };
  reduce_warp();
  Value* thread = b.CreateIntrinsic(I::nvvm_read_ptx_sreg_tid_x, {}, {});
  Value* lane = b.CreateAnd(thread, b.getInt32(kWarp - 1));
  Value* warp = b.CreateLShr(thread, b.getInt32(kWarpBits));
  llvm::SmallVector<llvm::Type*, 4> types;
  llvm::SmallVector<Value*, 4> shared;
  for (mlir::Value accumulator : task.getAccumulators()) {
    types.push_back(MemoryType(accumulator.getType(), b.getContext()));
    auto* array = llvm::ArrayType::get(types.back(), WarpsOf(task));
    shared.push_back(NewShared(*f.module(), array, "partials"));
  }
  const auto slot = [&](size_t i, Value* number) {
    return b.CreateInBoundsGEP(types[i], shared[i], number);
  };
  llvm::BasicBlock* first_lanes = f.NewBlock("first_lanes");
  llvm::BasicBlock* all = f.NewBlock("block");
  b.CreateCondBr(b.CreateIsNull(lane), first_lanes, all);
  b.SetInsertPoint(first_lanes);
  for (size_t i = 0; i < totals.size(); ++i) {
    b.CreateStore(b.CreateZExtOrBitCast(totals[i], types[i]), slot(i, warp));
  }
  b.CreateBr(all);
  b.SetInsertPoint(all);
  b.CreateIntrinsic(I::nvvm_barrier0, {}, {});
  // Warps that come to barriers later stay together until then: all of them compute the same.
  const bool others_end = others == f.return_block();
  if (others_end) {
    llvm::BasicBlock* first_warp = f.NewBlock("first_warp");
    b.CreateCondBr(b.CreateIsNull(warp), first_warp, others);
    b.SetInsertPoint(first_warp);
  }
  // Lanes without a warp have the identities.
  Value* warps =
      b.CreateLShr(b.CreateIntrinsic(I::nvvm_read_ptx_sreg_ntid_x, {}, {}), b.getInt32(kWarpBits));
  Value* has_warp = b.CreateICmpULT(lane, warps);
  Value* number = b.CreateSelect(has_warp, lane, b.getInt32(0));
  for (size_t i = 0; i < totals.size(); ++i) {
    Value* partial = b.CreateLoad(types[i], slot(i, number));
    if (totals[i]->getType()->isIntegerTy(1)) partial = b.CreateIsNotNull(partial);
    totals[i] = b.CreateSelect(has_warp, partial, LlvmConstant(task.getInits()[i], b.getContext()));
  }
  reduce_warp();
  llvm::BasicBlock* first_thread = f.NewBlock("first_thread");
  b.CreateCondBr(b.CreateIsNull(others_end ? lane : thread), first_thread, others);
  b.SetInsertPoint(first_thread);
  return totals;
}

bool DependsOnOrder(llvm::ArrayRef<ir::AtomicKind> kinds) {
  return llvm::any_of(kinds, [](ir::AtomicKind kind) {
    return kind == ir::AtomicKind::addf || kind == ir::AtomicKind::mulf;
  });
}

llvm::SmallVector<Value*, 4> EmitGridReduction(FunctionEmitter& f, ir::RangeTaskOp task,
                                               llvm::ArrayRef<ir::AtomicKind> kinds,
                                               llvm::ArrayRef<Value*> values) {
  llvm::IRBuilder<>& b = f.builder();
  namespace I = llvm::Intrinsic;
  // The number of blocks that have arrived, then the values of each block, eight bytes each.
  constexpr int64_t kBytes = 8, kFirst = 16;
  const int64_t offset = f.state().TakeTemporaries(
      kFirst + kBytes * kGridReductionBlocks * static_cast<int64_t>(values.size()));
  Value* memory = b.CreateConstInBoundsGEP1_64(
      b.getInt8Ty(), f.FromLaunch(codegen::LaunchField::kTemporaries), offset);
  Value* block = EmitSpecial(b, I::nvvm_read_ptx_sreg_ctaid_x);
  Value* blocks = EmitSpecial(b, I::nvvm_read_ptx_sreg_nctaid_x);
  const auto slot = [&](size_t i, Value* of_block) {
    Value* first = b.getInt64(i * kGridReductionBlocks);
    Value* at = b.CreateMul(b.CreateAdd(first, of_block), b.getInt64(kBytes));
    return b.CreateInBoundsGEP(b.getInt8Ty(), memory, b.CreateAdd(at, b.getInt64(kFirst)));
  };
  Value* is_last = NewShared(*f.module(), b.getInt32Ty(), "is_last");

  llvm::BasicBlock* arrived = f.NewBlock("arrived");
  const auto totals = EmitBlockReduction(f, task, kinds, values, arrived);
  for (auto [i, total] : llvm::enumerate(totals)) {
    b.CreateStore(total, slot(i, block), /*isVolatile=*/true);
  }
  // Between the values and the count: the block that finds the count complete finds all values.
  b.CreateIntrinsic(I::nvvm_membar_gl, {}, {});
  // Counts up to the last block, and then is zero again: for the next launch.
  Value* highest = b.CreateTrunc(b.CreateSub(blocks, b.getInt64(1)), b.getInt32Ty());
  Value* before =
      b.CreateIntrinsic(I::nvvm_atomic_load_inc_32, {memory->getType()}, {memory, highest});
  b.CreateStore(b.CreateZExt(b.CreateICmpEQ(before, highest), b.getInt32Ty()), is_last);
  b.CreateBr(arrived);

  b.SetInsertPoint(arrived);
  // Until the first thread has written `is_last`, which all threads of the block read.
  b.CreateIntrinsic(I::nvvm_barrier0, {}, {});
  llvm::BasicBlock* last = f.NewBlock("last_block");
  b.CreateCondBr(b.CreateIsNotNull(b.CreateLoad(b.getInt32Ty(), is_last)), last, f.return_block());
  b.SetInsertPoint(last);
  // The other half of the first fence: no value is read before the count.
  b.CreateIntrinsic(I::nvvm_membar_gl, {}, {});

  // Thread t combines those of the blocks t, t + T, ... of T threads.
  Value* thread = EmitSpecial(b, I::nvvm_read_ptx_sreg_tid_x);
  Value* threads = EmitSpecial(b, I::nvvm_read_ptx_sreg_ntid_x);
  CountedLoop::Values inits;
  for (mlir::Attribute init : task.getInits()) {
    inits.push_back(LlvmConstant(init, b.getContext()));
  }
  CountedLoop loop(f, {"blocks", "of_block", nullptr, "blocks_end"}, thread, blocks,
                   mlir::ValueRange(task.getAccumulators()).getTypes(), inits, threads);
  CountedLoop::Values sums = loop.values();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    // Volatile: caches of multiprocessors are not coherent.
    Value* partial = b.CreateLoad(sum->getType(), slot(i, loop.index()), /*isVolatile=*/true);
    sum = f.Combine(kinds[i], sum, partial);
  }
  loop.End(sums);
  return EmitBlockReduction(f, task, kinds, loop.values(), f.return_block());
}

}  // namespace kiln::cuda
