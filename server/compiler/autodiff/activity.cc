#include "server/compiler/autodiff/activity.h"

#include "server/compiler/autodiff/flow.h"

namespace kiln {

namespace {

using mlir::Value;

// Adds what `next` reaches from the values in `found`.
void Close(llvm::SmallVector<Value> found, llvm::DenseSet<Value>* all,
           void (*next)(Value, llvm::function_ref<void(Value)>)) {
  for (Value value : found) all->insert(value);
  while (!found.empty()) {
    next(found.pop_back_val(), [&](Value reached) {
      if (all->insert(reached).second) found.push_back(reached);
    });
  }
}

bool IsFloat(Value value) { return llvm::isa<mlir::FloatType>(value.getType()); }

// Conditions and integers made of floats do not carry derivatives. Integers that hold a float's
// bits may become that float again: they are followed, so that the op without a derivative is
// found.
bool CarriesOn(Value value, Value from) {
  if (llvm::isa<ir::AddrType>(value.getType()) || IsFloat(value)) return true;
  mlir::Operation* op = value.getDefiningOp();
  const bool is_bits = op != nullptr && llvm::isa<mlir::arith::BitcastOp>(op);
  return is_bits || (!IsFloat(from) && !value.getType().isInteger(1));
}

// Whether the address is that of a float on the tape, where values pass unseen.
bool CarriesOnTape(Value address) {
  const mlir::Type type = llvm::cast<ir::AddrType>(address.getType()).getPointee();
  return llvm::isa<mlir::FloatType>(type) && IsOnTape(address);
}

void VisitVaried(Value value, llvm::function_ref<void(Value)> visit) {
  VisitTakers(value, [&](Value taker) {
    if (CarriesOn(taker, value)) visit(taker);
  });
}

}  // namespace

Activity::Activity(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions)
    : companions_(companions) {
  FindVaried(kernel);
  FindUseful(kernel);
}

void Activity::FindVaried(ir::KernelOp kernel) {
  llvm::SmallVector<Value> loaded;
  kernel.walk([&](mlir::Operation* op) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      if (CarriesOnTape(load.getAddress()) || CompanionOf(load.getAddress()) >= 0) {
        loaded.push_back(load.getValue());
      }
    } else if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) {
      if (CompanionOf(atomic.getAddress()) >= 0) loaded.push_back(atomic.getOld());
    } else if (auto update = llvm::dyn_cast<ir::UpdateOp>(op)) {
      if (CompanionOf(update.getAddress()) >= 0) loaded.push_back(update.getOld());
    }
  });
  Close(std::move(loaded), &varied_, &VisitVaried);
}

void Activity::FindUseful(ir::KernelOp kernel) {
  llvm::SmallVector<Value> stored;
  kernel.walk([&](mlir::Operation* op) {
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) {
      if (CarriesOnTape(store.getAddress()) || CompanionOf(store.getAddress()) >= 0) {
        stored.push_back(store.getValue());
      }
    } else if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) {
      if (CompanionOf(atomic.getAddress()) >= 0) stored.push_back(atomic.getValue());
    }
  });
  Close(std::move(stored), &useful_, &VisitGivers);
}

bool Activity::IsActiveMemory(Value address) const {
  if (Value local = LocalOf(address)) return IsActive(local);
  return CarriesOnTape(address) || CompanionOf(address) >= 0;
}

int64_t Activity::CompanionOf(Value address) const {
  const int64_t storage = StorageOf(address);
  return storage < 0 ? -1 : companions_[storage];
}

}  // namespace kiln
