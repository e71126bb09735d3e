#include "server/compiler/autodiff/replay.h"

#include "server/compiler/autodiff/flow.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace arith = mlir::arith;
using mlir::Value;

namespace {

// Whether what the op does can be seen outside of the iteration, so that it must not be repeated.
bool IsSeen(mlir::Operation* op) {
  const Effects effects = EffectsOf(op);
  if (effects.Has(kActivates | kDeactivates | kReports | kFails | kTouchesMemory | kDraws |
                  kCalls)) {
    return true;
  }
  return llvm::any_of(effects.writes, [](Value address) { return !LocalOf(address); });
}

// Whether the parallel loop leaves anything in locals from outside.
bool WritesLocals(mlir::Operation* loop) {
  const auto found = loop->walk([&](mlir::Operation* op) {
    for (Value address : EffectsOf(op).writes) {
      const Value local = LocalOf(address);
      if (local && ParallelScope(local.getDefiningOp()) != loop) {
        return mlir::WalkResult::interrupt();
      }
    }
    return mlir::WalkResult::advance();
  });
  return found.wasInterrupted();
}

}  // namespace

bool IsLoop(mlir::Operation* op) { return llvm::isa<ir::ForOp, ir::LoopOp>(op); }

bool MayExit(mlir::Operation* op) {
  if (!llvm::isa<ir::IfOp>(op)) return false;
  for (mlir::Region& region : op->getRegions()) {
    for (mlir::Operation& inner : region.front()) {
      if (llvm::isa<ir::ContinueOp, ir::BreakOp, ir::ReturnOp>(inner) || MayExit(&inner)) {
        return true;
      }
    }
  }
  return false;
}

// --- Values

Value Replay::Get(Value primal) {
  if (Value value = values_.lookup(primal)) return value;
  Fail(primal.getLoc(),
       "the gradient of this kernel needs what this operation returned, and cannot repeat it: "
       "store the value in a field, in a kernel of its own");
  return primal;
}

void Replay::Map(mlir::ValueRange primal, mlir::ValueRange values) {
  for (auto [p, v] : llvm::zip(primal, values)) values_[p] = v;
}

Value Replay::Zero(mlir::Location loc, mlir::Type type) {
  return b.create<arith::ConstantOp>(loc, llvm::cast<mlir::TypedAttr>(b.getZeroAttr(type)));
}

Value Replay::True(mlir::Location loc) {
  return b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
}

Value Replay::Index(mlir::Location loc, int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value));
}

Value Replay::ToIndex(mlir::Location loc, Value value) {
  return value.getType().isInteger(64) ? value
                                       : b.createOrFold<arith::ExtSIOp>(loc, b.getI64Type(), value);
}

// --- Code

mlir::Operation* Replay::Copy(mlir::Operation* op) {
  mlir::Operation* copy = op->cloneWithoutRegions();
  for (mlir::OpOperand& operand : copy->getOpOperands()) operand.set(Get(operand.get()));
  b.insert(copy);
  return copy;
}

void Replay::Forward(mlir::Operation* op) {
  const Value taken = op->getNumResults() == 1 ? taken_.lookup(op->getResult(0)) : Value();
  if (taken) {
    Map(op->getResult(0), taken);
  } else if (llvm::isa<ir::ParallelForOp>(op)) {
    // Its writes to storages are left out, so that nothing else of it would remain.
    if (WritesLocals(op)) ForwardRegions(op);
  } else if (op->getNumRegions() > 0 && !llvm::isa<ir::UpdateOp>(op)) {
    ForwardRegions(op);
  } else if (!IsSeen(op)) {
    Map(op->getResults(), Copy(op)->getResults());
  }
}

mlir::Operation* Replay::ForwardRegions(mlir::Operation* op) {
  mlir::Operation* copy = Copy(op);
  for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(CopyBlock(from.front(), to));
    for (mlir::Operation& inner : from.front()) {
      if (inner.hasTrait<mlir::OpTrait::IsTerminator>()) {
        Copy(&inner);
      } else {
        Forward(&inner);
      }
    }
  }
  Map(op->getResults(), copy->getResults());
  return copy;
}

mlir::Block* Replay::CopyBlock(mlir::Block& from, mlir::Region& to) {
  mlir::Block* block = &to.emplaceBlock();
  for (mlir::BlockArgument argument : from.getArguments()) {
    Map(argument, block->addArgument(argument.getType(), argument.getLoc()));
  }
  return block;
}

// Code that is run again must not leave: what follows it still has to be done. So an if that may
// leave becomes one that tells whether it did, and the rest of the block is in another if:
//
//   if %c { ...; continue }          %falls = if %c { ...; yield false } else { yield true }
//   rest                       ->    if %falls { rest } else { yield false }
Value Replay::ForwardExiting(ir::IfOp op) {
  auto copy = NewExitingIf(op.getLoc(), Get(op.getCondition()), op.getResultTypes());
  for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&to.front());
    mlir::Block& block = from.front();
    b.create<ir::YieldOp>(op.getLoc(), ForwardArm(block, block.begin(), op.getResultTypes()));
  }
  Map(op->getResults(), copy->getResults().drop_front());
  return copy->getResult(0);
}

// An if that also returns whether control fell through, with empty blocks.
ir::IfOp Replay::NewExitingIf(mlir::Location loc, Value condition, mlir::TypeRange more) {
  llvm::SmallVector<mlir::Type> types = {b.getI1Type()};
  llvm::append_range(types, more);
  auto made = b.create<ir::IfOp>(loc, types, condition);
  made.getThenRegion().emplaceBlock();
  made.getElseRegion().emplaceBlock();
  return made;
}

// The rest of an arm from an op on: whether control falls through, and what the arm yields.
llvm::SmallVector<Value> Replay::ForwardArm(mlir::Block& block, mlir::Block::iterator at,
                                            mlir::TypeRange types) {
  for (; !at->hasTrait<mlir::OpTrait::IsTerminator>(); ++at) {
    if (!MayExit(&*at)) {
      Forward(&*at);
      continue;
    }
    const mlir::Location loc = at->getLoc();
    auto rest = NewExitingIf(loc, ForwardExiting(llvm::cast<ir::IfOp>(*at)), types);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&rest.getThenBlock());
    b.create<ir::YieldOp>(loc, ForwardArm(block, std::next(at), types));
    b.setInsertionPointToStart(&rest.getElseBlock());
    b.create<ir::YieldOp>(loc, Left(loc, types));
    return llvm::SmallVector<Value>(rest.getResults());
  }
  if (!llvm::isa<ir::YieldOp>(*at)) return Left(at->getLoc(), types);
  llvm::SmallVector<Value> yielded = {True(at->getLoc())};
  for (Value value : at->getOperands()) yielded.push_back(Get(value));
  return yielded;
}

// What an arm that leaves yields. Nothing uses the values: they are those of code that is not
// reached.
llvm::SmallVector<Value> Replay::Left(mlir::Location loc, mlir::TypeRange types) {
  llvm::SmallVector<Value> values = {Zero(loc, b.getI1Type())};
  for (mlir::Type type : types) values.push_back(Zero(loc, type));
  return values;
}

ir::IfOp Replay::NewIf(mlir::Location loc, Value condition) {
  auto made = b.create<ir::IfOp>(loc, mlir::TypeRange(), condition);
  for (mlir::Region& region : made->getRegions()) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&region.emplaceBlock());
    b.create<ir::YieldOp>(loc);
  }
  return made;
}

void Replay::CopyMemory(Value local, Value from, Value to) {
  const mlir::Location loc = local.getLoc();
  const mlir::Type type = llvm::cast<ir::AddrType>(local.getType()).getPointee();
  auto array = local.getDefiningOp<ir::LocalArrayOp>();
  if (!array) {
    b.create<ir::StoreOp>(loc, b.create<ir::LoadOp>(loc, type, from), to);
    return;
  }
  const auto number = [&](int64_t value) {
    return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  auto loop =
      b.create<ir::ForOp>(loc, mlir::TypeRange(), number(0),
                          number(static_cast<int64_t>(array.getCount())), mlir::ValueRange());
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&loop.getBodyRegion().emplaceBlock());
  const Value i = b.getInsertionBlock()->addArgument(b.getI32Type(), loc);
  const auto element = [&](Value memory) {
    return b.create<ir::ElementOp>(loc, memory.getType(), memory, i);
  };
  b.create<ir::StoreOp>(loc, b.create<ir::LoadOp>(loc, type, element(from)), element(to));
  b.create<ir::ContinueOp>(loc);
}

void Replay::Fail(mlir::Location loc, const llvm::Twine& why) {
  if (!failed_) mlir::emitError(loc) << why;
  failed_ = true;
}

}  // namespace kiln
