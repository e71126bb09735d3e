#include "server/compiler/autodiff/flow.h"

#include "server/compiler/dialect/effects.h"

namespace kiln {

namespace {

using mlir::Value;
using Visit = llvm::function_ref<void(Value)>;

// The value carried by a loop, by its number: an argument of the body.
Value Carried(mlir::Operation* loop, unsigned number) {
  mlir::Block& body = loop->getRegion(0).front();
  return body.getArgument(llvm::isa<ir::ForOp>(loop) ? number + 1 : number);
}

// A loop's first operand that is an init.
unsigned FirstInit(mlir::Operation* loop) { return llvm::isa<ir::ForOp>(loop) ? 2 : 0; }

// The loop, or parallel loop or kernel, that a continue or break ends.
mlir::Operation* LoopOf(mlir::Operation* terminator) {
  mlir::Operation* loop = terminator->getParentOp();
  while (llvm::isa<ir::IfOp>(loop)) loop = loop->getParentOp();
  return loop;
}

void VisitLoads(Value address, Visit visit) {
  for (mlir::Operation* user : address.getUsers()) {
    if (auto element = llvm::dyn_cast<ir::ElementOp>(user)) VisitLoads(element, visit);
    if (auto load = llvm::dyn_cast<ir::LoadOp>(user)) visit(load.getValue());
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(user)) visit(atomic.getOld());
  }
}

void VisitStored(Value address, Visit visit) {
  for (mlir::Operation* user : address.getUsers()) {
    if (auto element = llvm::dyn_cast<ir::ElementOp>(user)) VisitStored(element, visit);
    if (auto store = llvm::dyn_cast<ir::StoreOp>(user)) visit(store.getValue());
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(user)) visit(atomic.getValue());
  }
}

void VisitOperandsTakers(mlir::OpOperand& use, Visit visit) {
  mlir::Operation* op = use.getOwner();
  const unsigned number = use.getOperandNumber();
  if (llvm::isa<ir::YieldOp>(op) && llvm::isa<ir::IfOp>(op->getParentOp())) {
    visit(op->getParentOp()->getResult(number));
  } else if (llvm::isa<ir::ContinueOp>(op)) {
    mlir::Operation* loop = LoopOf(op);
    visit(Carried(loop, number));
    if (llvm::isa<ir::ForOp>(loop)) visit(loop->getResult(number));
  } else if (llvm::isa<ir::BreakOp>(op)) {
    visit(LoopOf(op)->getResult(number));
  } else if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) {
    if (number < FirstInit(op)) return;
    visit(Carried(op, number - FirstInit(op)));
    visit(op->getResult(number - FirstInit(op)));
  } else if (llvm::isa<ir::StoreOp, ir::AtomicOp>(op)) {
    const Value address = llvm::isa<ir::StoreOp>(op) ? llvm::cast<ir::StoreOp>(op).getAddress()
                                                     : llvm::cast<ir::AtomicOp>(op).getAddress();
    if (use.get() != address) {
      if (Value local = LocalOf(address)) visit(local);
      if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) visit(atomic.getOld());
    }
  } else if (op->getNumRegions() == 0 && !llvm::isa<ir::LoadOp, ir::StopGradientOp>(op)) {
    for (Value result : op->getResults()) visit(result);
  }
}

// The operands with which terminators of the loop's iterations end it (break) or go on (continue).
void VisitEnds(mlir::Operation* loop, unsigned number, bool ends, bool goes_on, Visit visit) {
  loop->getRegion(0).walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) return mlir::WalkResult::skip();
    if ((llvm::isa<ir::ContinueOp>(op) && goes_on) || (llvm::isa<ir::BreakOp>(op) && ends)) {
      visit(op->getOperand(number));
    }
    return mlir::WalkResult::advance();
  });
}

}  // namespace

Value LocalOf(Value address) {
  const Value array = ArrayOf(address);
  return array.getDefiningOp<ir::LocalOp>() || array.getDefiningOp<ir::LocalArrayOp>() ? array
                                                                                       : Value();
}

bool IsOnTape(Value address) { return ArrayOf(address).getDefiningOp<ir::TapeSlotOp>() != nullptr; }

int64_t StorageOf(Value address) {
  address = ArrayOf(address);
  if (auto global = address.getDefiningOp<ir::GlobalOp>()) return global.getStorage();
  if (auto component = address.getDefiningOp<ir::ComponentOp>()) return component.getStorage();
  if (auto select = address.getDefiningOp<mlir::arith::SelectOp>()) {
    const int64_t storage = StorageOf(select.getTrueValue());
    return storage == StorageOf(select.getFalseValue()) ? storage : -1;
  }
  return -1;
}

void VisitTakers(Value value, Visit visit) {
  if (llvm::isa<ir::AddrType>(value.getType())) return VisitLoads(value, visit);
  for (mlir::OpOperand& use : value.getUses()) VisitOperandsTakers(use, visit);
}

void VisitGivers(Value value, Visit visit) {
  if (llvm::isa<ir::AddrType>(value.getType())) return VisitStored(value, visit);
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    mlir::Operation* loop = argument.getOwner()->getParentOp();
    if (!llvm::isa<ir::ForOp, ir::LoopOp>(loop)) return;
    const bool is_for = llvm::isa<ir::ForOp>(loop);
    if (is_for && argument.getArgNumber() == 0) return;
    const unsigned number = argument.getArgNumber() - (is_for ? 1 : 0);
    visit(loop->getOperand(FirstInit(loop) + number));
    return VisitEnds(loop, number, /*ends=*/false, /*goes_on=*/true, visit);
  }
  mlir::Operation* op = value.getDefiningOp();
  const unsigned number = llvm::cast<mlir::OpResult>(value).getResultNumber();
  if (llvm::isa<ir::IfOp>(op)) {
    for (mlir::Region& region : op->getRegions()) {
      mlir::Operation* end = region.front().getTerminator();
      if (llvm::isa<ir::YieldOp>(end)) visit(end->getOperand(number));
    }
  } else if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) {
    const bool is_for = llvm::isa<ir::ForOp>(op);
    if (is_for) visit(op->getOperand(FirstInit(op) + number));
    VisitEnds(op, number, /*ends=*/true, /*goes_on=*/is_for, visit);
  } else if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
    if (Value local = LocalOf(load.getAddress())) visit(local);
  } else if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) {
    if (Value local = LocalOf(atomic.getAddress())) visit(local);
    visit(atomic.getValue());
  } else if (op->getNumRegions() == 0 && !llvm::isa<ir::StopGradientOp>(op)) {
    for (Value operand : op->getOperands()) {
      if (!llvm::isa<ir::AddrType>(operand.getType())) visit(operand);
    }
  }
}

}  // namespace kiln
