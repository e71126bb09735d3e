// Common subexpression elimination: of operations that compute the same from the same values, the
// first one remains. Operations whose results nothing uses go as well.
//
//   %a = kiln.load %x                    %a = kiln.load %x
//   %b = arith.addi %a, %n               %b = arith.addi %a, %n
//   %c = kiln.load %x           ->
//   %d = arith.addi %c, %n
//   kiln.store %d, %y                    kiln.store %b, %y
//
// Operations that only read memory are equal if they are in one block, and nothing between them
// writes. MLIR's pass of this name does the same. For each equal pair, the one of MLIR 19 looks at
// all operations between the two: 250 products of one matrix took it two seconds. Here the walk
// counts writes, and compares two numbers.
//
// Requires: regions of one block. Guarantees: linear time.
#include "llvm/ADT/ScopedHashTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/equal_ops.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

class Elimination {
 public:
  void Run(mlir::Operation* op) {
    for (mlir::Region& region : op->getRegions()) Visit(region);
  }

 private:
  struct Known {
    mlir::Operation* op = nullptr;
    int64_t num_writes = 0;  // before it
  };
  using Table = llvm::ScopedHashTable<mlir::Operation*, Known, SameComputation>;

  void Visit(mlir::Region& region);
  void Visit(mlir::Operation* op);
  // The earlier operation whose results this one's are; null if there is none.
  mlir::Operation* FindEqual(mlir::Operation* op) const;

  // What a region computes is known in the regions within it.
  Table known_;
  int64_t num_writes_ = 0;  // of the operations so far that may write
};

bool MayWrite(mlir::Operation* op) {
  if (auto effects = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(op)) {
    return effects.hasEffect<mlir::MemoryEffects::Write>();
  }
  // What is in its regions counts for itself.
  return !op->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>();
}

bool OnlyReads(mlir::Operation* op) {
  auto effects = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  return effects && effects.onlyHasEffect<mlir::MemoryEffects::Read>();
}

void Elimination::Visit(mlir::Region& region) {
  if (region.empty()) return;
  const Table::ScopeTy scope(known_);
  // An operation may go while the walk is at it.
  for (mlir::Operation& op : llvm::make_early_inc_range(region.front())) Visit(&op);
}

mlir::Operation* Elimination::FindEqual(mlir::Operation* op) const {
  const Known earlier = known_.lookup(op);
  if (earlier.op == nullptr || mlir::isMemoryEffectFree(op)) return earlier.op;
  const bool reads_the_same =
      earlier.op->getBlock() == op->getBlock() && earlier.num_writes == num_writes_;
  return reads_the_same ? earlier.op : nullptr;
}

void Elimination::Visit(mlir::Operation* op) {
  if (mlir::isOpTriviallyDead(op)) {
    op->erase();
    return;
  }
  const bool isolated = op->hasTrait<mlir::OpTrait::IsIsolatedFromAbove>();
  if (op->getNumRegions() > 0 && isolated) {
    Elimination().Run(op);
  } else {
    Run(op);
  }
  if (op->hasTrait<mlir::OpTrait::IsTerminator>()) return;
  if (mlir::isMemoryEffectFree(op) || OnlyReads(op)) {
    if (mlir::Operation* earlier = FindEqual(op)) {
      op->replaceAllUsesWith(earlier);
      op->erase();
      return;
    }
    known_.insert(op, {op, num_writes_});
  }
  if (MayWrite(op)) ++num_writes_;
}

struct CsePass : mlir::PassWrapper<CsePass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CsePass)
  llvm::StringRef getArgument() const override { return "cse"; }
  void runOnOperation() override { Elimination().Run(getOperation()); }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateCsePass() { return std::make_unique<CsePass>(); }

}  // namespace kiln
