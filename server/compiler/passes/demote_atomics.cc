// Atomics that no other thread can meet become load, compute, store.
//
//   kiln.parallel_for (%i) = ... {            %old = kiln.load %x
//     %x = kiln.global 0 component 0[%i]  ->  %new = arith.addf %old, %v
//     kiln.atomic addf %v, %x                 kiln.store %new, %x
//   }
//
// That is: on a local of the same thread; in the kernel's serial code; and on a cell of a
// storage that only one iteration of the parallel loop writes, because its indices are
// the loop's own, and every other write of the loop to that storage has the same ones.
// Functions may be called from parallel loops: only their locals are sure to be theirs.
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

// What an iteration's own cell looks like: per axis, loop indices in mixed radix and an
// offset. Equal ones name equal cells; two iterations have no cell in common.
struct OwnCell {
  struct Axis {
    llvm::SmallVector<unsigned, 2> digits;  // dimensions of the loop, outermost first
    int64_t offset = 0;
    bool operator==(const Axis& other) const {
      return digits == other.digits && offset == other.offset;
    }
  };
  llvm::SmallVector<Axis, 3> axes;
  bool operator==(const OwnCell& other) const { return axes == other.axes; }
};

bool IsConstant(mlir::Value value, int64_t* number) {
  llvm::APInt constant;
  if (!matchPattern(value, mlir::m_ConstantInt(&constant))) return false;
  *number = constant.getSExtValue();
  return true;
}

// d, d * n + e (with 0 <= e < n the range of another dimension), + a constant.
bool ParseAxis(mlir::Value index, ir::ParallelForOp loop, OwnCell::Axis* out) {
  int64_t number;
  if (IsConstant(index, &number)) {
    out->offset += number;
    return true;
  }
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(index)) {
    if (argument.getOwner() != &loop.getBodyRegion().front()) return false;
    out->digits.push_back(argument.getArgNumber());
    return true;
  }
  auto add = index.getDefiningOp<mlir::arith::AddIOp>();
  if (!add) return false;
  if (IsConstant(add.getRhs(), &number)) {
    out->offset += number;
    return ParseAxis(add.getLhs(), loop, out);
  }
  auto low = llvm::dyn_cast<mlir::BlockArgument>(add.getRhs());
  auto high = add.getLhs().getDefiningOp<mlir::arith::MulIOp>();
  if (!low || !high || low.getOwner() != &loop.getBodyRegion().front()) return false;
  const unsigned dimension = low.getArgNumber();
  int64_t radix, lower, upper;
  if (loop.isSparse()) return false;
  if (!IsConstant(high.getRhs(), &radix) || !IsConstant(loop.getLowers()[dimension], &lower) ||
      !IsConstant(loop.getUppers()[dimension], &upper) || lower != 0 || upper > radix) {
    return false;
  }
  if (!ParseAxis(high.getLhs(), loop, out) || out->offset != 0) return false;
  out->digits.push_back(dimension);
  return true;
}

// Whether the address is a cell of the iteration's own.
bool ParseOwnCell(mlir::Value address, ir::ParallelForOp loop, OwnCell* out) {
  // Whichever element of the cell it is.
  address = ArrayOf(address);
  auto global = address.getDefiningOp<ir::GlobalOp>();
  auto component = address.getDefiningOp<ir::ComponentOp>();
  if (!global && !component) return false;
  auto kernel = loop->getParentOfType<ir::KernelOp>();
  const int64_t storage = global ? global.getStorage() : component.getStorage();
  const int64_t first = global ? global.getComponent() : component.getFirst();
  llvm::SmallVector<bool> seen(loop.getBody().getNumArguments());
  for (mlir::Value index : global ? global.getIndices() : component.getIndices()) {
    const int64_t axis = out->axes.size();
    if (!ParseAxis(index, loop, &out->axes.emplace_back())) return false;
    if (!Distinguishes(kernel, storage, first, axis)) continue;
    for (unsigned dimension : out->axes.back().digits) seen[dimension] = true;
  }
  return llvm::all_of(seen, [](bool b) { return b; });
}

// Of a kiln.atomic or kiln.update.
mlir::Value AddressOf(mlir::Operation* atomic) { return EffectsOf(atomic).writes.front(); }

class Demotion {
 public:
  explicit Demotion(ir::KernelOp kernel)
      : kernel_(kernel), builder_(kernel.getContext()), functions_(kernel) {}

  void Run() {
    llvm::MapVector<mlir::Operation*, llvm::SmallVector<mlir::Operation*>> by_scope;
    kernel_.walk([&](mlir::Operation* op) {
      if (llvm::isa<ir::AtomicOp, ir::UpdateOp>(op)) by_scope[ParallelScope(op)].push_back(op);
    });
    for (auto& [scope, atomics] : by_scope) {
      auto loop = llvm::dyn_cast<ir::ParallelForOp>(scope);
      llvm::SmallVector<mlir::Operation*> shared;
      const bool alone = scope == kernel_.getOperation();
      for (mlir::Operation* atomic : atomics) {
        if (alone || IsOwnLocal(atomic, scope)) {
          Demote(atomic);
        } else {
          shared.push_back(atomic);
        }
      }
      if (loop && !shared.empty()) DemoteOwnCells(loop, shared);
    }
  }

 private:
  bool IsOwnLocal(mlir::Operation* atomic, mlir::Operation* scope) {
    mlir::Operation* local = ArrayOf(AddressOf(atomic)).getDefiningOp();
    return local && llvm::isa<ir::LocalOp, ir::LocalArrayOp>(local) &&
           ParallelScope(local) == scope;
  }

  void DemoteOwnCells(ir::ParallelForOp loop, llvm::ArrayRef<mlir::Operation*> atomics) {
    struct Write {
      MemoryClass cells;
      bool own;
      OwnCell cell;
    };
    // One entry for each distinct way to write, so that this stays linear in practice.
    llvm::SmallVector<Write> writes;
    const auto add = [&](mlir::Value address) {
      Write write{ClassOf(address), false, {}};
      write.own = ParseOwnCell(address, loop, &write.cell);
      for (const Write& known : writes) {
        if (known.cells == write.cells && known.own == write.own && known.cell == write.cell) {
          return;
        }
      }
      writes.push_back(std::move(write));
    };
    loop.walk([&](mlir::Operation* op) {
      const Effects effects = functions_.EffectsOf(op);
      if (effects.Has(kTouchesMemory)) writes.push_back({});  // may be anywhere
      for (mlir::Value address : effects.writes) add(address);
    });
    for (mlir::Operation* atomic : atomics) {
      OwnCell cell;
      const MemoryClass cells = ClassOf(AddressOf(atomic));
      if (!ParseOwnCell(AddressOf(atomic), loop, &cell)) continue;
      // Storages that may alias have other layouts: equal indices prove nothing.
      if (cells.kind != MemoryClass::kStorage) continue;
      const bool alone = llvm::all_of(writes, [&](const Write& write) {
        return !MayOverlap(write.cells, cells) || (write.own && write.cell == cell);
      });
      if (alone) Demote(atomic);
    }
  }

  void Demote(mlir::Operation* op) {
    auto atomic = llvm::dyn_cast<ir::AtomicOp>(op);
    if (!atomic) return Demote(llvm::cast<ir::UpdateOp>(op));
    builder_.setInsertionPoint(atomic);
    mlir::Location loc = atomic.getLoc();
    mlir::Value old =
        builder_.create<ir::LoadOp>(loc, atomic.getOld().getType(), atomic.getAddress());
    mlir::Value combined = Combine(builder_, loc, atomic.getKind(), old, atomic.getValue(),
                                   ir::FloatFlags(kernel_.getFastMath()));
    builder_.create<ir::StoreOp>(loc, combined, atomic.getAddress());
    atomic.getOld().replaceAllUsesWith(old);
    atomic.erase();
  }

  void Demote(ir::UpdateOp update) {
    builder_.setInsertionPoint(update);
    mlir::Location loc = update.getLoc();
    mlir::Value old =
        builder_.create<ir::LoadOp>(loc, update.getOld().getType(), update.getAddress());
    mlir::Block& body = update.getBody().front();
    mlir::Operation* yield = body.getTerminator();
    body.getArgument(0).replaceAllUsesWith(old);
    update->getBlock()->getOperations().splice(update->getIterator(), body.getOperations(),
                                               body.begin(), yield->getIterator());
    builder_.create<ir::StoreOp>(loc, yield->getOperand(0), update.getAddress());
    update.getOld().replaceAllUsesWith(old);
    update.erase();
  }

  ir::KernelOp kernel_;
  mlir::OpBuilder builder_;
  FunctionFacts functions_;
};

struct DemoteAtomicsPass : mlir::PassWrapper<DemoteAtomicsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DemoteAtomicsPass)
  llvm::StringRef getArgument() const override { return "demote-atomics"; }
  void runOnOperation() override { Demotion(getOperation()).Run(); }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateDemoteAtomicsPass() {
  return std::make_unique<DemoteAtomicsPass>();
}

}  // namespace kiln
