// Removal of atomics on memory that no other thread accesses (thread-local and iteration-private
// memory): they become load, compute, store.
//
//   kiln.parallel_for (%i) = ... {            %old = kiln.load %x
//     %x = kiln.global 0 component 0[%i]  ->  %new = arith.addf %old, %v
//     kiln.atomic addf %v, %x                 kiln.store %new, %x
//   }
//
// Three kinds of memory qualify:
//   - locals of the same parallel loop or function;
//   - everything, in the kernel's serial code;
//   - a cell that only one iteration of the parallel loop writes. This holds if the loop's indices
//     determine the cell (ParseOwnCell), and every other write of the loop that may overlap it has
//     the same indices.
// Parallel loops may call functions, so in a function only its locals qualify.
//
// Requires: structured level. Guarantees: each remaining atomic may meet another thread's.
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

// The index expressions of a cell that belongs to one iteration. In each axis it is a number in
// mixed radix, whose digits are indices of the loop, plus a constant. Loops that a front end tiled
// by hand have several digits, as in x[i * 8 + j] for j in range(8).
//
// Two accesses of equal OwnCells are to one cell if they are of one iteration, and never otherwise.
struct OwnCell {
  struct Axis {
    llvm::SmallVector<unsigned, 2> digits;  // the loop's dimensions, most significant first
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

// Reads an index expression into `out`; false if it is of another form. The grammar, in which d is
// an index of the loop and c a constant:
//
//   index  := number | d + c | c
//   number := d | number * c + d    where 0 <= d < c
//
// The condition is what makes numbers of different digits differ.
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

// Whether no two iterations of the loop access the same cell at this address. That is so if each of
// the loop's dimensions is a digit of some axis that tells the storage's cells apart.
bool ParseOwnCell(mlir::Value address, ir::ParallelForOp loop, OwnCell* out) {
  address = ArrayOf(address);  // an iteration owns all elements of its cell
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
      const bool is_serial = scope == kernel_.getOperation();
      for (mlir::Operation* atomic : atomics) {
        if (is_serial || IsOwnLocal(atomic, scope)) {
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
    // Each distinct way to write once: loops write in few ways, however long their bodies are.
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
      if (effects.Has(kTouchesMemory)) writes.push_back({});  // anywhere
      for (mlir::Value address : effects.writes) add(address);
    });
    for (mlir::Operation* atomic : atomics) {
      OwnCell cell;
      const MemoryClass cells = ClassOf(AddressOf(atomic));
      if (!ParseOwnCell(AddressOf(atomic), loop, &cell)) continue;
      // Storages of one alias set may have different layouts: equal indices may name different
      // cells.
      if (cells.kind != MemoryClass::kStorage) continue;
      const bool is_private = llvm::all_of(writes, [&](const Write& write) {
        return !MayOverlap(write.cells, cells) || (write.own && write.cell == cell);
      });
      if (is_private) Demote(atomic);
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
