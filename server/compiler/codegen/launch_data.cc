// The part of FunctionEmitter that uses what the launch passes: arguments, results, temporaries,
// tapes and extents.
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {

using codegen::LaunchField;
using llvm::Value;

void FunctionEmitter::Emit(ir::ArgumentOp op) {
  // Those in known slots are loaded once a function.
  Map(op, op.getIndex() ? ArgumentAt(op.getSlot(), op.getIndex(), TypeOf(op))
                        : Argument(op.getSlot(), TypeOf(op)));
}

void FunctionEmitter::Emit(ir::ResultOp op) {
  Value* at = Slot(FromLaunch(LaunchField::kResults), op.getSlot(), op.getIndex());
  Store({at, AliasScopes::kResults}, ToSlot(b_, ValueOf(op.getValue())));
}

void FunctionEmitter::Emit(ir::TemporaryOp op) {
  Value* temporaries = FromLaunch(LaunchField::kTemporaries);
  addresses_[op] = {b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), temporaries, op.getOffset()),
                    AliasScopes::kTemporaries};
}

llvm::Value* FunctionEmitter::TapeBytes(mlir::Value count, int64_t bytes) {
  return b_.CreateNSWMul(ValueOf(count), b_.getInt64(bytes));
}

void FunctionEmitter::Emit(ir::TapePushOp op) {
  state_->can_fail = true;
  Value* records = state_->target->EmitTapePush(*this, TapeBytes(op.getCount(), op.getBytes()));
  addresses_[op] = {records, AliasScopes::kTemporaries};
  llvm::BasicBlock* full = NewBlock("full");
  llvm::BasicBlock* room = NewBlock("room");
  b_.CreateCondBr(b_.CreateIsNull(records), full, room);
  b_.SetInsertPoint(full);
  Value* slots = Alloca(b_.getInt64Ty(), 2);
  b_.CreateStore(ValueOf(op.getCount()), slots);
  b_.CreateStore(b_.getInt64(op.getBytes()),
                 b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, 1));
  state_->target->EmitReport(*this, codegen::Report::kFail, op.getNode(), 2, slots);
  ReturnZeros();
  b_.SetInsertPoint(room);
}

void FunctionEmitter::Emit(ir::TapeTopOp op) {
  Value* bytes = TapeBytes(op.getCount(), op.getBytes());
  addresses_[op] = {state_->target->EmitTapeTop(*this, bytes), AliasScopes::kTemporaries};
}

void FunctionEmitter::Emit(ir::TapePopOp op) {
  state_->target->EmitTapePop(*this, TapeBytes(op.getCount(), op.getBytes()));
}

void FunctionEmitter::Emit(ir::TapeSlotOp op) {
  Value* offset =
      b_.CreateNSWAdd(TapeBytes(op.getIndex(), op.getBytes()), b_.getInt64(op.getOffset()));
  Address slot = addresses_.lookup(op.getRecords());
  slot.pointer = b_.CreateInBoundsGEP(b_.getInt8Ty(), slot.pointer, offset);
  addresses_[op] = slot;
}

void FunctionEmitter::Emit(ir::ExtentOp op) {
  Map(op, b_.CreateZExtOrTrunc(AxisExtent(op.getStorage(), op.getAxis()), TypeOf(op)));
}

void FunctionEmitter::Emit(ir::OuterExtentOp op) {
  auto dense = llvm::cast<ir::DenseAttr>(state_->storages[op.getStorage()]);
  Value* extent = Argument(dense.getExtentSlot(), b_.getInt64Ty());
  Map(op, b_.CreateZExtOrTrunc(extent, TypeOf(op)));
}

Value* FunctionEmitter::Argument(int64_t slot, llvm::Type* type) {
  // Loaded in the entry block, because the first use may be in a branch, and later ones elsewhere.
  Value*& argument = arguments_[{slot, type}];
  if (argument == nullptr) {
    Value* at = entry_builder_.CreateConstInBoundsGEP1_64(
        b_.getInt8Ty(), FromLaunch(LaunchField::kArguments), abi::kSlotBytes * slot);
    llvm::Type* stored = type->isIntegerTy(1) ? b_.getInt8Ty() : type;
    auto* load = entry_builder_.CreateAlignedLoad(stored, at, llvm::Align(8));
    MarkInvariant(load);
    argument = load;
    if (type->isIntegerTy(1)) argument = entry_builder_.CreateIsNotNull(load);
  }
  return argument;
}

// `slot` and `index` 8-byte slots on.
Value* FunctionEmitter::Slot(Value* slots, int64_t slot, mlir::Value index) {
  slots = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, slot);
  if (!index) return slots;
  return b_.CreateInBoundsGEP(b_.getInt64Ty(), slots,
                              EmitAffine(b_, indices_.Read(b_, index, values_)));
}

Value* FunctionEmitter::ArgumentAt(int64_t slot, mlir::Value index, llvm::Type* type) {
  Value* at = Slot(FromLaunch(LaunchField::kArguments), slot, index);
  auto* load =
      b_.CreateAlignedLoad(type->isIntegerTy(1) ? b_.getInt8Ty() : type, at, llvm::Align(8));
  MarkInvariant(load);
  return type->isIntegerTy(1) ? b_.CreateIsNotNull(load) : load;
}

Value* FunctionEmitter::AxisExtent(int64_t storage, int64_t axis) {
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(state_->storages[storage])) {
    return Argument(array.getExtentSlot(axis), b_.getInt64Ty());
  }
  auto dense = llvm::cast<ir::DenseAttr>(state_->storages[storage]);
  Value* extent = b_.getInt64(1);
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    if (dense.getDigitAxis(d) != axis) continue;
    // Only the outermost extent may be unknown (0 in the descriptor): the launch passes it.
    const int64_t digit = dense.getDigitExtent(d);
    extent = b_.CreateMul(
        extent, digit != 0 ? b_.getInt64(digit) : Argument(dense.getExtentSlot(), b_.getInt64Ty()));
  }
  return extent;
}

}  // namespace kiln
