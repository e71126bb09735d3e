// Registers for cells that a serial loop updates in branches, or in loops within it.
//
//   kiln.for %j = ... {                       %l = kiln.local ; kiln.store (kiln.load %x), %l
//     kiln.if %near {                         %stored = kiln.local ; kiln.store %false, %stored
//       %x = kiln.global 0 component 0[%i]    kiln.for %j = ... {
//       kiln.store (kiln.load %x) + %f, %x      kiln.if %near {
//     }                                   ->      kiln.store (kiln.load %l) + %f, %l
//   }                                             kiln.store %true, %stored
//                                               }
//                                             }
//                                             kiln.if (kiln.load %stored) {
//                                               kiln.store (kiln.load %l), %x
//                                             }
//
// The loop of a particle over its neighbours is like this. LLVM keeps such a cell in memory,
// because another iteration might write it meanwhile. Here only the iteration itself does
// (own_cells.h). As a value that the loop carries, the sum vectorises (reduction_form.cc).
//
// What the program does not write stays unwritten: another kernel may write it at the same time.
// And the program may guard all accesses of a cell that does not exist, so the cell is loaded and
// stored only if its indices are within the extents.
//
// Requires: structured level; licm, which takes indices out of loops. promote-locals must follow.
// Guarantees: only that the code computes the same. Kernels with gradients stay as they are:
// promote-cells is for them.
#include <limits>
#include <optional>

#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/own_cells.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

using mlir::Value;

// Ops of a block that run together: a block, and the op before them that control may leave, or
// null.
using Stretch = std::pair<mlir::Block*, mlir::Operation*>;

// All accesses of a loop to one cell.
struct Cell {
  ir::GlobalOp global;  // one of the ops that compute its address
  llvm::SmallVector<mlir::Operation*> accesses;
  // The first store of each stretch that has one.
  llvm::MapVector<Stretch, mlir::Operation*> storing;
  bool is_stored_within = false;  // in a branch or a loop in the loop
};

bool IsInside(Value value, mlir::Operation* loop) {
  return loop->isAncestor(value.getParentBlock()->getParentOp());
}

bool IsSameCell(ir::GlobalOp a, ir::GlobalOp b) {
  return a.getStorage() == b.getStorage() && a.getComponent() == b.getComponent() &&
         a.getIndices() == b.getIndices();
}

Stretch StretchOf(mlir::Operation* op) {
  mlir::Operation* before = op->getPrevNode();
  while (before != nullptr && before->getNumRegions() == 0) before = before->getPrevNode();
  return {op->getBlock(), before};
}

// Whether the loop is known to have so few iterations that the cell would not repay a load and a
// store.
bool IsShort(mlir::Operation* op) {
  constexpr int64_t kShort = 8;
  auto loop = llvm::dyn_cast<ir::ForOp>(op);
  const auto repeats = [](mlir::Operation& inner) {
    return llvm::isa<ir::ForOp, ir::LoopOp>(inner);
  };
  if (!loop || llvm::any_of(loop.getBody().front(), repeats)) return false;
  const auto bounds = ConstantBoundsOf(loop.getLower(), loop.getUpper());
  return bounds && bounds->upper - bounds->lower < kShort;
}

class Carrying {
 public:
  // `own`: of the parallel loop around; null in serial code, where all cells are the thread's.
  Carrying(ir::KernelOp kernel, const FunctionFacts& functions, const OwnCells* own)
      : kernel_(kernel), functions_(functions), own_(own), b_(kernel.getContext()) {}

  // Outermost loops first: what they carry is a local in the loops within them.
  void Run(mlir::Operation* loop) {
    if (IsShort(loop) || !Collect(loop)) return;
    llvm::SmallVector<Cell*> carried;
    for (Cell& cell : cells_) {
      if (IsCarriable(cell)) carried.push_back(&cell);
    }
    // More would not stay in registers.
    if (carried.size() > kMostCells) return;
    flags_.clear();
    for (Cell* cell : carried) Carry(loop, *cell);
  }

 private:
  // More accesses are not compared: each is compared with each cell.
  static constexpr size_t kMostAccesses = 256, kMostCells = 16;
  static constexpr unsigned kHindrances =
      kTouchesMemory | kCalls | kActivates | kDeactivates | kQueries | kFails | kTapes;

  // Finds the loop's accesses; false if it does something after which memory must be right.
  bool Collect(mlir::Operation* loop) {
    cells_.clear();
    addresses_.clear();
    return !loop->walk([&](mlir::Operation* op) {
                  const Effects effects = functions_.EffectsOf(op);
                  const bool hinders = effects.Has(kHindrances) ||
                                       llvm::isa<ir::ReturnOp, ir::ParallelForOp>(op) ||
                                       addresses_.size() > kMostAccesses;
                  if (hinders) return mlir::WalkResult::interrupt();
                  for (Value address : effects.reads) Add(loop, op, address);
                  for (Value address : effects.writes) Add(loop, op, address);
                  return mlir::WalkResult::advance();
                })
                .wasInterrupted();
  }

  void Add(mlir::Operation* loop, mlir::Operation* op, Value address) {
    addresses_.emplace_back(address, op);
    auto global = address.getDefiningOp<ir::GlobalOp>();
    if (!global || !llvm::isa<ir::LoadOp, ir::StoreOp>(op)) return;
    const auto moves = [&](Value index) { return IsInside(index, loop); };
    if (llvm::any_of(global.getIndices(), moves)) return;
    Cell* cell = llvm::find_if(cells_, [&](Cell& c) { return IsSameCell(c.global, global); });
    if (cell == cells_.end()) cell = &cells_.emplace_back(Cell{global, {}, {}, false});
    cell->accesses.push_back(op);
    if (!llvm::isa<ir::StoreOp>(op)) return;
    cell->storing.insert({StretchOf(op), op});
    for (mlir::Operation* around = op->getParentOp(); around != loop;
         around = around->getParentOp()) {
      cell->is_stored_within |= llvm::isa<ir::IfOp, ir::ForOp, ir::LoopOp>(around);
    }
  }

  bool IsCarriable(Cell& cell) {
    const Value address = cell.global.getAddress();
    // A byte that is stored as a bool may be another one than was loaded.
    if (!cell.is_stored_within || !HasExtents(cell.global) ||
        llvm::cast<ir::AddrType>(address.getType()).getPointee().isInteger(1)) {
      return false;
    }
    if (own_ != nullptr && !own_->Has(address)) return false;
    return llvm::all_of(addresses_, [&](const auto& access) {
      return llvm::is_contained(cell.accesses, access.second) || !MayAlias(access.first, address);
    });
  }

  // Whether the storage's extents tell which cells exist.
  bool HasExtents(ir::GlobalOp global) {
    const mlir::Attribute storage = kernel_.getStorages()[global.getStorage()];
    if (auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(storage)) return !ndarray.getClamp();
    return llvm::isa<ir::DenseAttr>(storage);
  }

  void Carry(mlir::Operation* loop, Cell& cell) {
    const mlir::Location loc = cell.global.getLoc();
    const mlir::Type type =
        llvm::cast<ir::AddrType>(cell.global.getAddress().getType()).getPointee();
    b_.setInsertionPoint(loop);
    const Value exists = Exists(cell.global);
    const Value address = b_.clone(*cell.global)->getResult(0);
    const Value local = b_.create<ir::LocalOp>(loc, address.getType());
    CopyIf(exists, loc, type, address, local);
    const Value flag = FlagOf(loop, cell);
    b_.setInsertionPointAfter(loop);
    const Value stored = b_.create<ir::LoadOp>(loc, b_.getI1Type(), flag);
    CopyIf(b_.create<mlir::arith::AndIOp>(loc, exists, stored), loc, type, local, address);
    for (mlir::Operation* access : cell.accesses) {
      access->replaceUsesOfWith(Address(access), local);
    }
  }

  // A local that tells, after the loop, whether the cell was stored. Components of a vector share
  // it, since the same stretches store them.
  Value FlagOf(mlir::Operation* loop, const Cell& cell) {
    const auto stretches = llvm::to_vector(llvm::make_first_range(cell.storing));
    for (const auto& [storing, flag] : flags_) {
      if (storing == stretches) return flag;
    }
    const mlir::Location loc = loop->getLoc();
    const mlir::Type type = b_.getI1Type();
    b_.setInsertionPoint(loop);
    const Value flag = b_.create<ir::LocalOp>(loc, ir::AddrType::get(type.getContext(), type));
    b_.create<ir::StoreOp>(loc, Constant(loc, b_.getBoolAttr(false)), flag);
    for (mlir::Operation* store : llvm::make_second_range(cell.storing)) {
      b_.setInsertionPoint(store);
      b_.create<ir::StoreOp>(loc, Constant(loc, b_.getBoolAttr(true)), flag);
    }
    flags_.emplace_back(stretches, flag);
    return flag;
  }

  static Value Address(mlir::Operation* access) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(access)) return load.getAddress();
    return llvm::cast<ir::StoreOp>(access).getAddress();
  }

  void CopyIf(Value condition, mlir::Location loc, mlir::Type type, Value from, Value to) {
    auto branch = b_.create<ir::IfOp>(loc, mlir::TypeRange(), condition);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&branch.getElseRegion().emplaceBlock());
    b_.create<ir::YieldOp>(loc);
    b_.setInsertionPointToEnd(&branch.getThenRegion().emplaceBlock());
    b_.create<ir::StoreOp>(loc, b_.create<ir::LoadOp>(loc, type, from), to);
    b_.create<ir::YieldOp>(loc);
  }

  // Whether the indices of an access are within the extents.
  Value Exists(ir::GlobalOp global) {
    namespace arith = mlir::arith;
    const mlir::Location loc = global.getLoc();
    Value all = Constant(loc, b_.getBoolAttr(true));
    for (const auto& [axis, index] : llvm::enumerate(global.getIndices())) {
      Value extent, from_zero = index;
      const mlir::Attribute storage = kernel_.getStorages()[global.getStorage()];
      if (auto dense = llvm::dyn_cast<ir::DenseAttr>(storage)) {
        extent = AxisExtent(loc, dense, global.getStorage(), axis);
        if (!dense.getOffset().empty() && dense.getOffset()[axis] != 0) {
          const Value offset = Constant(loc, b_.getI32IntegerAttr(dense.getOffset()[axis]));
          from_zero = b_.create<arith::SubIOp>(loc, index, offset);
        }
      } else {
        extent = b_.create<ir::ExtentOp>(loc, b_.getI32Type(), global.getStorage(), axis);
      }
      const Value inside =
          b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, from_zero, extent);
      all = b_.create<arith::AndIOp>(loc, all, inside);
    }
    return all;
  }

  // An axis has the product of its digits' extents; an axis without digits has one cell for all
  // indices.
  Value AxisExtent(mlir::Location loc, ir::DenseAttr dense, int64_t storage, int64_t axis) {
    int64_t known = 1;
    bool at_launch = false, any = false;
    for (int d = 0; d < dense.getNumDigits(); ++d) {
      if (dense.getDigitAxis(d) != axis) continue;
      any = true;
      const int64_t extent = dense.getDigitExtent(d);
      at_launch |= extent == 0;
      if (extent != 0) known *= extent;
    }
    const int64_t all = any ? known : std::numeric_limits<int32_t>::max();
    const Value constant = Constant(loc, b_.getI32IntegerAttr(static_cast<int32_t>(all)));
    if (!at_launch) return constant;
    const Value outer = b_.create<ir::OuterExtentOp>(loc, b_.getI32Type(), storage);
    return b_.create<mlir::arith::MulIOp>(loc, outer, constant);
  }

  Value Constant(mlir::Location loc, mlir::TypedAttr value) {
    return b_.create<mlir::arith::ConstantOp>(loc, value);
  }

  ir::KernelOp kernel_;
  const FunctionFacts& functions_;
  const OwnCells* own_;
  mlir::OpBuilder b_;
  llvm::SmallVector<Cell> cells_;
  llvm::SmallVector<std::pair<Value, mlir::Operation*>> addresses_;        // of all accesses
  llvm::SmallVector<std::pair<llvm::SmallVector<Stretch>, Value>> flags_;  // see FlagOf
};

struct CarryCellsPass : mlir::PassWrapper<CarryCellsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CarryCellsPass)
  llvm::StringRef getArgument() const override { return "carry-cells"; }
  void runOnOperation() override {
    ir::KernelOp kernel = getOperation();
    if (kernel.getCompanions()) return;
    const FunctionFacts functions(kernel);
    // By the parallel loop around, or the kernel.
    llvm::MapVector<mlir::Operation*, llvm::SmallVector<mlir::Operation*>> loops;
    kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) loops[ParallelScope(op)].push_back(op);
    });
    for (const auto& [scope, inner] : loops) {
      std::optional<OwnCells> own;
      if (auto parallel = llvm::dyn_cast<ir::ParallelForOp>(scope)) {
        own.emplace(parallel, functions);
      } else if (scope != kernel.getOperation()) {
        continue;  // functions run in many threads
      }
      Carrying carrying(kernel, functions, own ? &*own : nullptr);
      for (mlir::Operation* loop : inner) carrying.Run(loop);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateCarryCellsPass() { return std::make_unique<CarryCellsPass>(); }

}  // namespace kiln
