// Unroll-and-jam of rows: an iteration computes its column of several neighbouring rows, and loads
// once what they share.
//
//   body (%i, %j) {                           body (%t, %j) {
//     %s = kiln.for %k … {                      %i = 4 * %t
//       load a[%i, %k]                          kiln.if (%i + 4 <= rows) {
//       load b[%k, %j]               ->           %s0, %s1, … = kiln.for %k … {
//       …                                           load a[%i, %k], load a[%i + 1, %k], …
//     }                                             load b[%k, %j]
//     store c[%i, %j]                               …
//     kiln.continue                               }
//   }                                             store c[%i, %j], store c[%i + 1, %j], …
//                                               } else {
//                                                 kiln.for %r = %i to rows { the body as it was }
//                                               }
//                                               kiln.continue
//                                             } attributes {rows = 4}
//
// A product of matrices then loads `b` once for several rows, whose sums do not wait for each
// other. That also holds for the threads of a GPU. (Carr and Kennedy: Improving the Ratio of Memory
// Operations to Floating-Point Operations in Loops, TOPLAS 1994.)
//
// The copies of an op follow each other, so each row's own ops stay in order. Iterations of a
// parallel loop must not depend on each other's order, and so do not see the difference.
//
// Left as they are: bodies with branches, atomics, calls, reports or local variables; inner loops
// whose bounds differ between rows, which share too little, or are short.
//
// Requires: offloaded level, carried values in their last form. Guarantees: only that the code
// computes the same.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/lane_shapes.h"
#include "server/compiler/dialect/long_loops.h"
#include "server/compiler/passes/invariants.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;
using mlir::Value;

// As many sums as registers hold, where a column is two vectors (LaneEmitter::LanesFor), or scalar
// at the least level. A thread of a GPU has more registers, but more sums would leave fewer threads
// and save little: of n rows, n + 1 loads serve n products.
constexpr int kMostSums = 4, kMostSumsOfV4 = 8, kMostSumsOfScalars = 8;
// A GPU's loop stays as it is if fewer threads would be left: they fill it only once or twice.
constexpr int64_t kFewThreads = 1 << 15;
// Of a body. Larger ones do more than wait for loads.
constexpr int kMostOps = 32;
// Inner loops of fewer iterations do not repay the code.
constexpr double kShort = 8;

int MostSums(int64_t cpu_level) {
  if (cpu_level < kLeastLevelOfLanes) return kMostSumsOfScalars;
  return cpu_level > kLeastLevelOfLanes ? kMostSumsOfV4 : kMostSums;
}

llvm::SmallVector<mlir::Operation*> OpsOf(mlir::Block& block) {
  return llvm::map_to_vector(block.without_terminator(), [](mlir::Operation& op) { return &op; });
}

// A dimension of a task, as its rows.
class Jam {
 public:
  Jam(ir::RangeTaskOp task, int dimension)
      : task_(task), dimension_(dimension), row_(task.getIndices()[dimension]) {
    mlir::Operation* bounds = task.getBounds().front().getTerminator();
    lower_ = bounds->getOperand(2 * dimension);
    upper_ = bounds->getOperand(2 * dimension + 1);
  }

  // How many rows an iteration should compute; 1: the task should stay as it is. No level: for a
  // GPU.
  int Rows(std::optional<int64_t> cpu_level);
  // At least two.
  void Rewrite(int rows);

 private:
  using Copies = llvm::SmallVector<mlir::IRMapping, kMostSumsOfV4>;

  bool MarkBlock(mlir::Block& block);
  bool MarkLoop(ir::ForOp loop);
  bool IsOwn(Value value) const { return own_.contains(value); }
  bool HasOwnOperand(mlir::Operation* op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return IsOwn(v); });
  }
  bool SharesLoads();
  int Sums();
  bool LeavesFewThreads(int64_t rows);

  void RewriteBounds(int rows);
  void CopyRows(mlir::OpBuilder& b, Value first, llvm::ArrayRef<mlir::Operation*> ops, int rows);
  void CloneOps(mlir::OpBuilder& b, llvm::ArrayRef<mlir::Operation*> ops, Copies& copies);
  void CloneLoop(mlir::OpBuilder& b, ir::ForOp loop, Copies& copies);
  void MoveIntoLoop(mlir::OpBuilder& b, Value from, Value to, llvm::ArrayRef<mlir::Operation*> ops);
  Value Number(mlir::OpBuilder& b, int64_t number) {
    return b.create<arith::ConstantOp>(task_.getLoc(), b.getI64IntegerAttr(number));
  }
  // Of the index's type.
  Value Index(mlir::OpBuilder& b, int64_t number) {
    return b.create<arith::ConstantOp>(task_.getLoc(), b.getIntegerAttr(row_.getType(), number));
  }

  ir::RangeTaskOp task_;
  int dimension_;
  Value row_;
  Value lower_, upper_;                         // in the bounds region
  llvm::DenseSet<Value> own_;                   // differ between rows
  llvm::DenseSet<mlir::Operation*> own_loops_;  // do something that does
};

// --- Whether and how many --------------------------------------------------------------

bool HasCopies(mlir::Operation& op) {
  // Stores to trees may activate.
  if (llvm::isa<ir::GlobalOp>(op)) return !GlobalInTree(op.getResult(0));
  if (llvm::isa<ir::LoadOp, ir::StoreOp, ir::ExtentOp, ir::OuterExtentOp, ir::ArgumentOp,
                ir::ContinueOp>(op)) {
    return true;
  }
  return !llvm::isa<ir::KilnDialect>(op.getDialect()) && mlir::isPure(&op);
}

// Marks what differs between rows. False: the block has an op of which copies would not do.
bool Jam::MarkBlock(mlir::Block& block) {
  for (mlir::Operation& op : block) {
    if (auto loop = llvm::dyn_cast<ir::ForOp>(op)) {
      if (!MarkLoop(loop)) return false;
      continue;
    }
    if (!HasCopies(op)) return false;
    // Rows that store to one cell race: which one is last is not for this pass to decide.
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) {
      if (!IsOwn(store.getAddress())) return false;
    }
    if (HasOwnOperand(&op)) own_.insert(op.result_begin(), op.result_end());
  }
  return true;
}

bool Jam::MarkLoop(ir::ForOp loop) {
  if (IsOwn(loop.getLower()) || IsOwn(loop.getUpper())) return false;
  const auto differs = [&](mlir::Operation* op) {
    return HasOwnOperand(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  };
  // The loop itself, too.
  if (loop->walk(differs).wasInterrupted()) {
    own_loops_.insert(loop);
    own_.insert(loop.getCarried().begin(), loop.getCarried().end());
    own_.insert(loop.result_begin(), loop.result_end());
  }
  return MarkBlock(loop.getBody().front());
}

// Whether inner loops load more cells of the column that rows share than such that they do not.
// What is the same in all columns is one element for a vector, and no part of this.
bool Jam::SharesLoads() {
  const LaneShapes columns(task_);
  int shared = 0, own = 0;
  task_.getBody().walk([&](ir::LoadOp load) {
    auto loop = load->getParentOfType<ir::ForOp>();
    // A cell that the loop does not choose stays in a register.
    if (!loop || !loop->isAncestor(load.getAddress().getDefiningOp())) return;
    if (Trips(*loop).value_or(kShort) < kShort) return;
    if (columns.Varies(load.getAddress())) ++(IsOwn(load.getAddress()) ? own : shared);
  });
  return shared > own;
}

// The most that a loop carries for each row, or keeps in cells.
int Jam::Sums() {
  int most = 1;
  for (mlir::Operation* loop : own_loops_) {
    int sums = loop->getNumResults();
    loop->walk([&](ir::StoreOp store) {
      sums += static_cast<int>(!loop->isAncestor(store.getAddress().getDefiningOp()));
    });
    most = std::max(most, sums);
  }
  return most;
}

// Whether the task is known to have few iterations of so many rows.
bool Jam::LeavesFewThreads(int64_t rows) {
  int64_t total = 1;
  mlir::Operation* bounds = task_.getBounds().front().getTerminator();
  for (unsigned d = 0; d < bounds->getNumOperands(); d += 2) {
    const auto constant = ConstantBoundsOf(bounds->getOperand(d), bounds->getOperand(d + 1));
    if (!constant || constant->upper <= constant->lower) return false;
    if (__builtin_mul_overflow(total, constant->upper - constant->lower, &total)) return false;
  }
  return total / rows < kFewThreads;
}

int Jam::Rows(std::optional<int64_t> cpu_level) {
  Invariants invariants;
  if (!upper_.getType().isInteger(64) || !ConstantOf(lower_) || !invariants.Has(upper_)) return 1;
  int ops = 0;
  task_.getBody().walk([&](mlir::Operation*) { ++ops; });
  if (ops > kMostOps) return 1;
  own_.insert(row_);
  if (!MarkBlock(task_.getBody().front()) || !SharesLoads()) return 1;
  const int most = MostSums(cpu_level.value_or(kLeastLevelOfLanes)) / Sums();
  unsigned rows = llvm::bit_floor(static_cast<unsigned>(std::max(most, 1)));
  if (!cpu_level && LeavesFewThreads(rows)) return 1;
  // Twice as many at least, or all would be left over.
  const auto bounds = ConstantBoundsOf(lower_, upper_);
  while (bounds && rows > 1 && bounds->upper - bounds->lower < 2 * int64_t{rows}) rows /= 2;
  return static_cast<int>(rows);
}

// --- The new task ----------------------------------------------------------------------

void Jam::RewriteBounds(int rows) {
  mlir::Operation* bounds = task_.getBounds().front().getTerminator();
  mlir::OpBuilder b(bounds);
  // Rounded up. Too small a bound is none, as before.
  Value count =
      b.create<arith::AddIOp>(task_.getLoc(), upper_, Number(b, rows - 1 - *ConstantOf(lower_)));
  count = b.create<arith::DivSIOp>(task_.getLoc(), count, Number(b, rows));
  bounds->setOperand(2 * dimension_, Number(b, 0));
  bounds->setOperand(2 * dimension_ + 1, count);
}

void Jam::CloneOps(mlir::OpBuilder& b, llvm::ArrayRef<mlir::Operation*> ops, Copies& copies) {
  for (mlir::Operation* op : ops) {
    if (own_loops_.contains(op)) {
      CloneLoop(b, llvm::cast<ir::ForOp>(op), copies);
    } else if (HasOwnOperand(op)) {
      for (mlir::IRMapping& copy : copies) b.clone(*op, copy);
    } else {
      mlir::Operation* one = b.clone(*op, copies.front());
      for (mlir::IRMapping& copy : copies) copy.map(op->getResults(), one->getResults());
    }
  }
}

// One loop, which carries the values of all rows.
void Jam::CloneLoop(mlir::OpBuilder& b, ir::ForOp loop, Copies& copies) {
  const mlir::Location loc = loop.getLoc();
  const auto in_copies = [&](mlir::ValueRange values) {
    llvm::SmallVector<Value> all;
    for (mlir::IRMapping& copy : copies) {
      for (Value value : values) all.push_back(copy.lookupOrDefault(value));
    }
    return all;
  };
  const llvm::SmallVector<Value> inits = in_copies(loop.getInits());
  const mlir::IRMapping& any = copies.front();
  auto made = b.create<ir::ForOp>(loc, mlir::ValueRange(inits).getTypes(),
                                  any.lookupOrDefault(loop.getLower()),
                                  any.lookupOrDefault(loop.getUpper()), inits);
  const mlir::OpBuilder::InsertionGuard guard(b);
  mlir::Block& body = made.getBody().emplaceBlock();
  b.setInsertionPointToStart(&body);
  const Value index = body.addArgument(loop.getIndex().getType(), loc);
  for (mlir::IRMapping& copy : copies) {
    copy.map(loop.getIndex(), index);
    for (Value carried : loop.getCarried()) {
      copy.map(carried, body.addArgument(carried.getType(), loc));
    }
  }
  mlir::Block& old = loop.getBody().front();
  CloneOps(b, OpsOf(old), copies);
  b.create<ir::ContinueOp>(loc, in_copies(old.getTerminator()->getOperands()));
  unsigned result = 0;
  for (mlir::IRMapping& copy : copies) {
    for (Value value : loop.getResults()) copy.map(value, made.getResult(result++));
  }
}

void Jam::CopyRows(mlir::OpBuilder& b, Value first, llvm::ArrayRef<mlir::Operation*> ops,
                   int rows) {
  Copies copies(rows);
  for (int r = 0; r < rows; ++r) {
    copies[r].map(row_, b.create<arith::AddIOp>(task_.getLoc(), first, Index(b, r)));
  }
  CloneOps(b, ops, copies);
}

// The ops for each row from `from` to before `to`.
void Jam::MoveIntoLoop(mlir::OpBuilder& b, Value from, Value to,
                       llvm::ArrayRef<mlir::Operation*> ops) {
  const mlir::Location loc = task_.getLoc();
  auto loop = b.create<ir::ForOp>(loc, mlir::TypeRange(), from, to, mlir::ValueRange());
  const mlir::OpBuilder::InsertionGuard guard(b);
  mlir::Block& body = loop.getBody().emplaceBlock();
  const Value row = body.addArgument(row_.getType(), loc);
  b.setInsertionPointToStart(&body);
  mlir::Operation* end = b.create<ir::ContinueOp>(loc);
  for (mlir::Operation* op : ops) op->moveBefore(end);
  row_.replaceUsesWithIf(
      row, [&](mlir::OpOperand& use) { return loop->isProperAncestor(use.getOwner()); });
}

void Jam::Rewrite(int rows) {
  const mlir::Location loc = task_.getLoc();
  RewriteBounds(rows);
  mlir::Block& body = task_.getBody().front();
  const llvm::SmallVector<mlir::Operation*> ops = OpsOf(body);
  mlir::OpBuilder b(body.getTerminator());
  Value first = b.create<arith::MulIOp>(loc, row_, Index(b, rows));
  first = b.create<arith::AddIOp>(loc, first, Index(b, *ConstantOf(lower_)));
  // In 64 bits: the row after the last one may have no number in 32.
  mlir::IRMapping copies;
  const Value end = CopyInvariant(b, upper_, &copies);
  Value next = b.create<arith::ExtSIOp>(loc, end.getType(), first);
  next = b.create<arith::AddIOp>(loc, next, Number(b, rows));
  const Value all = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, next, end);
  auto branch = b.create<ir::IfOp>(loc, mlir::TypeRange(), all);
  b.setInsertionPointToEnd(&branch.getThenRegion().emplaceBlock());
  CopyRows(b, first, ops, rows);
  b.create<ir::YieldOp>(loc);
  b.setInsertionPointToEnd(&branch.getElseRegion().emplaceBlock());
  MoveIntoLoop(b, first, b.create<arith::TruncIOp>(loc, row_.getType(), end), ops);
  b.create<ir::YieldOp>(loc);

  constexpr int64_t kMostCost = std::numeric_limits<int32_t>::max();
  task_.setCost(static_cast<uint32_t>(std::min(int64_t{task_.getCost()} * rows, kMostCost)));
  task_.setRowsAttr(b.getI32IntegerAttr(rows));
}

struct JamRowsPass : mlir::PassWrapper<JamRowsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JamRowsPass)
  llvm::StringRef getArgument() const override { return "jam-rows"; }
  void runOnOperation() override {
    const std::optional<int64_t> cpu_level = CpuLevelOf(getOperation());
    for (auto task : getOperation().getBodyRegion().getOps<ir::RangeTaskOp>())
      JamIn(task, cpu_level);
  }

  // The innermost dimension that gains, beside the one of the columns.
  static void JamIn(ir::RangeTaskOp task, std::optional<int64_t> cpu_level) {
    // A thread's own loop may depend on the order. A wish for the size of blocks is of iterations.
    if (task.isSparse() || task.getMaxThreads() == 1 || task.getBlockDim() != 0) return;
    if (!task.getInits().empty()) return;
    for (int d = task.getNumDims() - 2; d >= 0; --d) {
      if (!task.getIndices()[d].getType().isInteger(32)) continue;
      Jam jam(task, d);
      const int rows = jam.Rows(cpu_level);
      if (rows > 1) return jam.Rewrite(rows);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateJamRowsPass() { return std::make_unique<JamRowsPass>(); }

}  // namespace kiln
