// Promotion of cells to locals, where an iteration writes a cell in nested code.
//
//   kiln.store %one, %y                     %l = kiln.local ; kiln.store %one, %l
//   kiln.for %j = ... {                     kiln.for %j = ... {
//     kiln.store (kiln.load %y) * %x, %y ->   kiln.store (kiln.load %l) * %x, %l
//   }                                       }
//                                           kiln.store (kiln.load %l), %y
//
// A gradient runs the loop's iterations again, when memory has only the last value. A local is
// carried by the loop, so each iteration's value is known. If the cell is read before it is
// written, its first value remains a load, of memory that the kernel overwrites (overwritten.h).
//
// Requires: CSE ran. Only addresses that are one value in a block, and whose memory nothing else in
// the block may access, qualify.
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

using mlir::Value;

// All accesses of a block to one address.
struct Cell {
  llvm::SmallVector<mlir::Operation*> accesses;
  bool is_written_within = false;  // in a region of an op of the block
};

class Promotion {
 public:
  explicit Promotion(ir::KernelOp kernel)
      : kernel_(kernel), companions_(*kernel.getCompanions()), b_(kernel.getContext()) {}

  void Run() {
    llvm::MapVector<Value, Cell> cells;
    kernel_.walk([&](mlir::Operation* op) {
      const Effects effects = EffectsOf(op);
      for (Value address : effects.reads) Add(address, op, &cells);
      for (Value address : effects.writes) Add(address, op, &cells);
    });
    for (auto& [address, cell] : cells) {
      if (IsPromotable(address, cell, cells)) Promote(address.getDefiningOp<ir::GlobalOp>(), cell);
    }
  }

 private:
  static void Add(Value address, mlir::Operation* op, llvm::MapVector<Value, Cell>* cells) {
    address = ArrayOf(address);
    Cell& cell = (*cells)[address];
    cell.accesses.push_back(op);
    cell.is_written_within |=
        llvm::isa<ir::StoreOp>(op) && op->getBlock() != address.getParentBlock();
  }

  bool IsPromotable(Value address, const Cell& cell, const llvm::MapVector<Value, Cell>& cells) {
    auto global = address.getDefiningOp<ir::GlobalOp>();
    if (!global || !cell.is_written_within || companions_[global.getStorage()] < 0) return false;
    // In trees, writes outside of the extents are lost.
    if (GlobalInTree(address) && (global.getNoActivate() || !IsInRange(global))) return false;
    mlir::Operation* scope = ParallelScope(global);
    for (mlir::Operation* access : cell.accesses) {
      if (!IsPlain(access, address) || ParallelScope(access) != scope) return false;
    }
    const auto [first, last] = Span(address, cell);
    // Otherwise the program may guard all accesses, of a cell that does not exist.
    if (!IsPlain(first, address)) return false;
    for (mlir::Operation* op = first;; op = op->getNextNode()) {
      if (op->hasTrait<mlir::OpTrait::IsTerminator>() || Leaves(op) || TouchesOthers(op)) {
        return false;
      }
      if (op == last) break;
    }
    mlir::Block* block = address.getParentBlock();
    for (const auto& [other, accesses] : cells) {
      if (other == address || !MayAlias(address, other)) continue;
      for (mlir::Operation* access : accesses.accesses) {
        if (block->findAncestorOpInBlock(*access)) return false;
      }
    }
    return true;
  }

  static bool IsPlain(mlir::Operation* access, Value address) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(access)) return load.getAddress() == address;
    if (auto store = llvm::dyn_cast<ir::StoreOp>(access)) return store.getAddress() == address;
    return false;
  }

  // The first and the last op of the address's block that hold accesses.
  static std::pair<mlir::Operation*, mlir::Operation*> Span(Value address, const Cell& cell) {
    mlir::Operation* first = nullptr;
    mlir::Operation* last = nullptr;
    for (mlir::Operation* access : cell.accesses) {
      mlir::Operation* op = address.getParentBlock()->findAncestorOpInBlock(*access);
      if (first == nullptr || op->isBeforeInBlock(first)) first = op;
      if (last == nullptr || last->isBeforeInBlock(op)) last = op;
    }
    return {first, last};
  }

  // Whether control may leave the op's block from within the op.
  static bool Leaves(mlir::Operation* op) {
    if (!llvm::isa<ir::IfOp>(op)) {
      bool returns = false;
      op->walk([&](ir::ReturnOp) { returns = true; });
      return returns;
    }
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Operation& inner : region.front()) {
        if (llvm::isa<ir::ContinueOp, ir::BreakOp, ir::ReturnOp>(inner) || Leaves(&inner)) {
          return true;
        }
      }
    }
    return false;
  }

  static bool TouchesOthers(mlir::Operation* op) {
    bool touches = false;
    op->walk([&](mlir::Operation* inner) {
      touches |= EffectsOf(inner).Has(kTouchesMemory | kCalls | kDeactivates);
    });
    return touches;
  }

  void Promote(ir::GlobalOp global, const Cell& cell) {
    const mlir::Location loc = global.getLoc();
    const Value address = global.getAddress();
    const mlir::Type type = llvm::cast<ir::AddrType>(address.getType()).getPointee();
    const auto [first, last] = Span(address, cell);
    b_.setInsertionPoint(first);
    const Value local = b_.create<ir::LocalOp>(loc, address.getType());
    b_.create<ir::StoreOp>(loc, b_.create<ir::LoadOp>(loc, type, address), local);
    b_.setInsertionPointAfter(last);
    const Value value = b_.create<ir::LoadOp>(loc, type, local);
    b_.create<ir::StoreOp>(loc, value, address);
    for (mlir::Operation* access : cell.accesses) access->replaceUsesOfWith(address, local);
  }

  ir::KernelOp kernel_;
  const llvm::SmallVector<int64_t> companions_;
  mlir::OpBuilder b_;
};

struct PromoteCellsPass : mlir::PassWrapper<PromoteCellsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PromoteCellsPass)
  llvm::StringRef getArgument() const override { return "promote-cells"; }
  void runOnOperation() override {
    if (getOperation().getCompanions()) Promotion(getOperation()).Run();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreatePromoteCellsPass() {
  return std::make_unique<PromoteCellsPass>();
}

}  // namespace kiln
