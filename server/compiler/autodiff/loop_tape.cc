#include "server/compiler/autodiff/loop_tape.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Iterators.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {

namespace arith = mlir::arith;
using mlir::Value;

namespace {

// Records of so many bytes in all are locals of the loop's task.
constexpr int64_t kMostInLocals = 4096;

bool IsOutside(Value value, mlir::Region& region) {
  return !region.isAncestor(value.getParentRegion());
}

// Whether the loop may end before its upper bound.
bool MayBreak(mlir::Operation* loop) {
  const auto found = loop->getRegion(0).walk<mlir::WalkOrder::PreOrder>([](mlir::Operation* op) {
    if (IsLoop(op)) return mlir::WalkResult::skip();
    return llvm::isa<ir::BreakOp, ir::ReturnOp>(op) ? mlir::WalkResult::interrupt()
                                                    : mlir::WalkResult::advance();
  });
  return found.wasInterrupted();
}

bool DependsOnFloats(Value value) {
  llvm::SmallVector<Value> rest = {value};
  llvm::DenseSet<Value> seen;
  while (!rest.empty()) {
    const Value next = rest.pop_back_val();
    if (!seen.insert(next).second) continue;
    if (llvm::isa<mlir::FloatType>(next.getType())) return true;
    VisitGivers(next, [&](Value giver) { rest.push_back(giver); });
  }
  return false;
}

mlir::Type ScalarOf(Value value) {
  auto address = llvm::dyn_cast<ir::AddrType>(value.getType());
  return address ? address.getPointee() : value.getType();
}

// Of a value, of a local, of an array of locals.
int64_t CountOf(Value value) {
  auto array = value.getDefiningOp<ir::LocalArrayOp>();
  return array ? array.getCount() : 1;
}

int64_t BytesOf(Value value) {
  const int64_t scalar = std::max<int64_t>(ScalarOf(value).getIntOrFloatBitWidth() / 8, 1);
  return CountOf(value) * scalar;
}

}  // namespace

// --- The loop's run

LoopTape::LoopTape(Replay* replay, mlir::Operation* loop)
    : replay_(*replay),
      b_(replay->b),
      loop_(loop),
      is_counted_(llvm::isa<ir::ForOp>(loop) && !MayBreak(loop)) {
  if (is_counted_) entered_ = TripCount();
  run_ = replay_.ForwardRegions(loop);
  const auto keep = [&](Value value) { in_run_[value] = replay_.Lookup(value); };
  loop->getRegion(0).walk([&](mlir::Operation* op) { llvm::for_each(op->getResults(), keep); });
  llvm::for_each(loop->getRegion(0).getArguments(), keep);
  if (!is_counted_) {
    CountIterations();
    replay_.Map(loop->getResults(), run_->getResults().drop_back());
  }
}

Value LoopTape::TripCount() {
  const mlir::Location loc = loop_->getLoc();
  const Value lower = replay_.ToIndex(loc, replay_.Get(loop_->getOperand(0)));
  const Value upper = replay_.ToIndex(loc, replay_.Get(loop_->getOperand(1)));
  const Value count = b_.createOrFold<arith::SubIOp>(loc, upper, lower);
  return b_.createOrFold<arith::MaxSIOp>(loc, count, replay_.Index(loc, 0));
}

// Makes the loop carry how many iterations it has entered, as its last value.
void LoopTape::CountIterations() {
  const mlir::Location loc = run_->getLoc();
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(run_);
  llvm::SmallVector<Value> operands(run_->getOperands());
  operands.push_back(replay_.Index(loc, 0));
  llvm::SmallVector<mlir::Type> types(run_->getResultTypes());
  types.push_back(b_.getI64Type());
  mlir::OperationState state(loc, run_->getName(), operands, types, run_->getAttrs());
  state.addRegion()->takeBody(run_->getRegion(0));
  mlir::Operation* counting = b_.create(state);
  mlir::Block& body = counting->getRegion(0).front();
  b_.setInsertionPointToStart(&body);
  const Value before = body.addArgument(b_.getI64Type(), loc);
  const Value entered = b_.create<arith::AddIOp>(loc, before, replay_.Index(loc, 1));
  body.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* end) {
    if (IsLoop(end)) return mlir::WalkResult::skip();
    if (llvm::isa<ir::ContinueOp, ir::BreakOp>(end)) {
      end->insertOperands(end->getNumOperands(), entered);
    }
    return mlir::WalkResult::advance();
  });
  run_->replaceAllUsesWith(counting->getResults().drop_back());
  run_->erase();
  run_ = counting;
  entered_ = counting->getResults().back();
}

// --- The reverse of an iteration

void LoopTape::Take(ir::ForOp reverse) {
  reverse_ = reverse;
  const mlir::Location loc = loop_->getLoc();
  mlir::Block& body = loop_->getRegion(0).front();
  const Value last = b_.create<arith::SubIOp>(loc, entered_, replay_.Index(loc, 1));
  number_ = b_.create<arith::SubIOp>(loc, last, reverse.getIndex());
  start_ = number_.getDefiningOp();
  const bool is_for = llvm::isa<ir::ForOp>(loop_);
  if (is_for) {
    Value steps = number_;
    const Value lower = replay_.Get(loop_->getOperand(0));
    if (!lower.getType().isInteger(64)) {
      steps = b_.create<arith::TruncIOp>(loc, lower.getType(), steps);
    }
    replay_.Map(body.getArgument(0), b_.create<arith::AddIOp>(loc, lower, steps));
  }
  // Of the placeholders, Finish makes loads of records.
  const auto take = [&](Value primal) {
    const Value address = b_.create<ir::LocalOp>(
        primal.getLoc(), ir::AddrType::get(b_.getContext(), primal.getType()));
    const Value taken = b_.create<ir::LoadOp>(primal.getLoc(), primal.getType(), address);
    items_.push_back({primal, taken});
    return taken;
  };
  for (Value argument : body.getArguments().drop_front(is_for ? 1 : 0)) {
    replay_.Map(argument, take(argument));
  }
  for (Value condition : FloatConditions()) replay_.Take(condition, take(condition));
  for (Value local : ChangedLocals()) items_.push_back({local, Value()});
}

// The conditions in the loop's body, not of loops in it, that depend on floats.
llvm::SmallVector<Value> LoopTape::FloatConditions() const {
  llvm::SetVector<Value> found;
  loop_->getRegion(0).walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (IsLoop(op)) return mlir::WalkResult::skip();
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
      const Value condition = branch.getCondition();
      if (condition.getDefiningOp() && !IsOutside(condition, loop_->getRegion(0)) &&
          DependsOnFloats(condition)) {
        found.insert(condition);
      }
    }
    return mlir::WalkResult::advance();
  });
  return found.takeVector();
}

// Locals from outside the loop whose memory its iterations change.
llvm::SmallVector<Value> LoopTape::ChangedLocals() const {
  llvm::SetVector<Value> found;
  loop_->getRegion(0).walk([&](mlir::Operation* op) {
    for (Value address : EffectsOf(op).writes) {
      const Value local = LocalOf(address);
      if (local && IsOutside(local, loop_->getRegion(0))) found.insert(local);
    }
  });
  return found.takeVector();
}

// --- Records

void LoopTape::Finish() {
  for (const Item& item : items_) replay_.Untake(item.primal);
  DropUnused();
  if (items_.empty()) return;
  const int64_t bytes = Layout();
  const std::optional<int64_t> count = ConstantOf(entered_);
  const bool has_locals = llvm::any_of(items_, [](const Item& item) { return !item.taken; });
  if (is_counted_ && !has_locals && count && *count > 0 && *count <= kMostInLocals / bytes) {
    RecordInLocals(*count);
  } else {
    RecordOnTape(bytes);
  }
}

void LoopTape::DropUnused() {
  llvm::DenseSet<mlir::Operation*> kept;
  for (const Item& item : items_) {
    if (item.taken) kept.insert(item.taken.getDefiningOp());
  }
  reverse_->walk<mlir::WalkOrder::PostOrder, mlir::ReverseIterator>([&](mlir::Operation* op) {
    if (op == reverse_ || op == start_ || kept.contains(op)) return;
    if (mlir::isOpTriviallyDead(op)) op->erase();
  });
  llvm::erase_if(items_, [](const Item& item) {
    if (!item.taken || !item.taken.use_empty()) return false;
    mlir::Operation* load = item.taken.getDefiningOp();
    mlir::Operation* address = load->getOperand(0).getDefiningOp();
    load->erase();
    address->erase();
    return true;
  });
}

// Gives the items places in a record, large scalars first, so that each is aligned. Returns the
// bytes of a record.
int64_t LoopTape::Layout() {
  llvm::stable_sort(items_, [](const Item& x, const Item& y) {
    return ScalarOf(x.primal).getIntOrFloatBitWidth() > ScalarOf(y.primal).getIntOrFloatBitWidth();
  });
  int64_t bytes = 0;
  for (Item& item : items_) {
    item.offset = bytes;
    bytes += BytesOf(item.primal);
  }
  return (bytes + 7) / 8 * 8;
}

// In the copy's body, where the builder is. An op of its own, for what follows it.
Value LoopTape::NumberInRun() {
  const mlir::Location loc = loop_->getLoc();
  if (!is_counted_) return replay_.Index(loc, 0);
  auto run = llvm::cast<ir::ForOp>(run_);
  return b_.create<arith::SubIOp>(loc, replay_.ToIndex(loc, run.getIndex()),
                                  replay_.ToIndex(loc, run.getLower()));
}

// Stores the item's value in the loop's run, at `address`; of a carried value, behind `start`.
void LoopTape::Put(const Item& item, mlir::Operation* start,
                   llvm::function_ref<Value()> make_address) {
  const Value value = in_run_.lookup(item.primal);
  mlir::Operation* made = value.getDefiningOp();
  b_.setInsertionPointAfter(made != nullptr ? made : start);
  const Value address = make_address();
  b_.create<ir::StoreOp>(loop_->getLoc(), value, address);
}

// Makes the item's placeholder a load from an address.
void LoopTape::Get(const Item& item, llvm::function_ref<Value()> make_address) {
  mlir::Operation* load = item.taken.getDefiningOp();
  mlir::Operation* placeholder = load->getOperand(0).getDefiningOp();
  b_.setInsertionPoint(load);
  load->setOperand(0, make_address());
  placeholder->erase();
}

// An array of locals for each item.
void LoopTape::RecordInLocals(int64_t count) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  const mlir::Location loc = loop_->getLoc();
  b_.setInsertionPointToStart(&run_->getRegion(0).front());
  const Value in_run = b_.create<arith::TruncIOp>(loc, b_.getI32Type(), NumberInRun());
  b_.setInsertionPointAfter(start_);
  const Value in_reverse = b_.create<arith::TruncIOp>(loc, b_.getI32Type(), number_);
  for (const Item& item : items_) {
    const mlir::Type type = ir::AddrType::get(b_.getContext(), item.primal.getType());
    b_.setInsertionPoint(run_);
    const Value array = b_.create<ir::LocalArrayOp>(loc, type, count);
    Put(item, in_run.getDefiningOp(),
        [&] { return b_.create<ir::ElementOp>(loc, type, array, in_run); });
    Get(item, [&] { return b_.create<ir::ElementOp>(loc, type, array, in_reverse); });
  }
}

void LoopTape::RecordOnTape(int64_t bytes) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  const mlir::Location loc = loop_->getLoc();
  const mlir::Type type = ir::AddrType::get(b_.getContext(), b_.getI8Type());
  // Around the run, or in each iteration.
  b_.setInsertionPointToStart(&run_->getRegion(0).front());
  if (is_counted_) b_.setInsertionPoint(run_);
  const Value pushes = is_counted_ ? entered_ : replay_.Index(loc, 1);
  const Value pushed =
      b_.create<ir::TapePushOp>(loc, type, static_cast<int64_t>(ir::NodeOf(loc)), pushes, bytes);
  if (is_counted_) b_.setInsertionPointToStart(&run_->getRegion(0).front());
  const Value number_in_run = NumberInRun();

  // Around the reverse, or in each iteration.
  b_.setInsertionPointAfter(start_);
  if (is_counted_) b_.setInsertionPoint(reverse_);
  const Value pops = is_counted_ ? entered_ : replay_.Index(loc, 1);
  const Value number = is_counted_ ? number_ : replay_.Index(loc, 0);
  const Value top = b_.create<ir::TapeTopOp>(loc, type, pops, bytes);
  mlir::Operation* start = is_counted_ ? start_ : top.getDefiningOp();
  b_.setInsertionPointToEnd(&reverse_.getBody().front());
  if (is_counted_) b_.setInsertionPointAfter(reverse_);
  b_.create<ir::TapePopOp>(loc, pops, bytes);

  for (const Item& item : items_) {
    const auto in_run = [&] { return Slot(item, pushed, number_in_run, bytes); };
    const auto in_reverse = [&] { return Slot(item, top, number, bytes); };
    if (item.taken) {
      Put(item, number_in_run.getDefiningOp(), in_run);
      Get(item, in_reverse);
      continue;
    }
    // A local's memory as the iteration finds it.
    const Value local = replay_.Get(item.primal);
    b_.setInsertionPointAfter(number_in_run.getDefiningOp());
    replay_.CopyMemory(item.primal, local, in_run());
    b_.setInsertionPointAfter(start);
    replay_.CopyMemory(item.primal, in_reverse(), local);
  }
}

Value LoopTape::Slot(const Item& item, Value records, Value number, int64_t bytes) {
  return b_.create<ir::TapeSlotOp>(loop_->getLoc(),
                                   ir::AddrType::get(b_.getContext(), ScalarOf(item.primal)),
                                   records, number, bytes, item.offset);
}

}  // namespace kiln
