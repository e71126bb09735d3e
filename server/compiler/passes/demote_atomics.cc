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
//   - a cell that only one iteration of the parallel loop writes (own_cells.h). Where that depends
//     on whether arguments are apart, the atomic notes it for the code to test.
// Parallel loops may call functions, so in a function only its locals qualify.
//
// Requires: structured level. Guarantees: each remaining atomic may meet another thread's.
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/own_cells.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

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
    const OwnCells own(loop, functions_);
    for (mlir::Operation* atomic : atomics) {
      if (own.Has(AddressOf(atomic))) {
        Demote(atomic);
      } else if (auto op = llvm::dyn_cast<ir::AtomicOp>(atomic)) {
        // Passes since an earlier run may have added writes, so what it noted does not stay.
        const auto others = own.ApartFrom(op.getAddress());
        op.setApartAttr(others ? builder_.getDenseI64ArrayAttr(*others)
                               : mlir::DenseI64ArrayAttr());
      }
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
