// Clean-up of control flow after promote-locals:
//   - branch folding: an if on a constant becomes the block that it takes;
//   - dead argument elimination: removes results and carried values that are unused or never
//   change;
//   - if-conversion: an if that only selects values becomes arith.select, or nothing;
//   - removal of loops whose constant bounds are empty;
//   - dead code elimination, also of ifs and counted loops, of which MLIR keeps all that hold a
//     continue or a break.
//
//   %r = kiln.if %c {                  %r = arith.select %c, %a, %b
//     kiln.yield %a            ->
//   } else { kiln.yield %b }
//
// Requires: structured level. Guarantees: only that the code computes the same. Inner ops come
// first, so that one walk suffices for what promotion leaves.
#include "llvm/ADT/BitVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

// Erases ops that have no effect and whose results are unused, last op first: what an erased op
// used may be dead, too.
class DeadCode {
 public:
  // What a region does besides computing its results.
  struct Rest {
    bool has_effects = false;
    bool leaves = false;  // continues or breaks a loop around it
  };

  static Rest Erase(mlir::Region& region) {
    Rest rest;
    for (mlir::Block& block : region) {
      for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
        const Rest of_op = op.getNumRegions() == 0 ? RestOf(&op) : EraseIn(&op);
        const bool is_dead = op.use_empty() && !op.hasTrait<mlir::OpTrait::IsTerminator>() &&
                             !of_op.has_effects && !of_op.leaves;
        if (is_dead) {
          op.erase();
          continue;
        }
        rest.has_effects |= of_op.has_effects;
        rest.leaves |= of_op.leaves;
      }
    }
    return rest;
  }

 private:
  static Rest RestOf(mlir::Operation* op) {
    if (llvm::isa<ir::YieldOp>(op)) return {};
    if (llvm::isa<ir::ContinueOp, ir::BreakOp>(op)) return {false, true};
    return {!mlir::wouldOpBeTriviallyDead(op), false};
  }

  static Rest EraseIn(mlir::Operation* op) {
    Rest rest;
    for (mlir::Region& region : op->getRegions()) {
      const Rest of_region = Erase(region);
      rest.has_effects |= of_region.has_effects;
      rest.leaves |= of_region.leaves;
    }
    // A counted loop ends, whatever its bounds are; other loops may run for ever.
    if (llvm::isa<ir::ForOp>(op)) return {rest.has_effects, false};
    return llvm::isa<ir::IfOp>(op) ? rest : Rest{true, false};
  }
};

class Simplifier {
 public:
  explicit Simplifier(mlir::MLIRContext* context) : builder_(context) {}

  void Simplify(mlir::Region& region) {
    for (mlir::Block& block : region) {
      mlir::Operation* next = nullptr;
      for (mlir::Operation* op = &block.front(); op; op = next) {
        // Before the op is simplified, which may erase it.
        next = op->getNextNode();
        for (mlir::Region& inner : op->getRegions()) Simplify(inner);
        if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
          if (!SimplifyIf(branch)) return;  // the block ends here now
        } else if (llvm::isa<ir::ForOp, ir::LoopOp>(op)) {
          SimplifyLoop(op);
        }
      }
    }
  }

 private:
  // --- If ----------------------------------------------------------------------------

  // False if the rest of the block was unreachable and has been removed.
  bool SimplifyIf(ir::IfOp branch) {
    if (const auto taken = ConstantOf(branch.getCondition())) {
      return Inline(branch, *taken == 0 ? branch.getElseBlock() : branch.getThenBlock());
    }
    auto then_yield = llvm::dyn_cast<ir::YieldOp>(branch.getThenBlock().getTerminator());
    auto else_yield = llvm::dyn_cast<ir::YieldOp>(branch.getElseBlock().getTerminator());
    // Both branches leave: there is no result to simplify.
    if (!then_yield && !else_yield) return true;
    if (then_yield && else_yield && then_yield == &branch.getThenBlock().front() &&
        else_yield == &branch.getElseBlock().front()) {
      Select(branch, then_yield, else_yield);
      return true;
    }
    llvm::BitVector drop(branch.getNumResults());
    for (unsigned i = 0; i < drop.size(); ++i) {
      mlir::Value result = branch.getResult(i);
      if (mlir::Value same = Same(branch, then_yield, else_yield, i)) {
        result.replaceAllUsesWith(same);
      }
      drop[i] = result.use_empty();
    }
    if (drop.none()) return true;
    if (then_yield) then_yield->eraseOperands(drop);
    if (else_yield) else_yield->eraseOperands(drop);
    EraseResults(branch, drop);
    return true;
  }

  bool Inline(ir::IfOp branch, mlir::Block& block) {
    mlir::Operation* end = block.getTerminator();
    mlir::Block* home = branch->getBlock();
    if (llvm::isa<ir::YieldOp>(end)) {
      branch.replaceAllUsesWith(end->getOperands());
      end->erase();
    } else {
      // The rest of the block is unreachable. Users are removed before what they use.
      while (&home->back() != branch.getOperation()) {
        home->back().dropAllUses();
        home->back().erase();
      }
    }
    home->getOperations().splice(branch->getIterator(), block.getOperations());
    const bool has_rest = branch->getNextNode() != nullptr;
    branch.erase();
    return has_rest;
  }

  void Select(ir::IfOp branch, ir::YieldOp a, ir::YieldOp b) {
    builder_.setInsertionPoint(branch);
    for (auto [result, x, y] : llvm::zip(branch.getResults(), a.getValues(), b.getValues())) {
      result.replaceAllUsesWith(x == y ? x
                                       : builder_.create<mlir::arith::SelectOp>(
                                             branch.getLoc(), branch.getCondition(), x, y));
    }
    branch.erase();
  }

  // The value of a result if it is the same in each branch that yields; otherwise null.
  mlir::Value Same(ir::IfOp branch, ir::YieldOp a, ir::YieldOp b, unsigned i) {
    mlir::Value x = a ? a.getValues()[i] : b.getValues()[i];
    mlir::Value y = b ? b.getValues()[i] : x;
    if (x != y) return {};
    // A value from within the branch does not exist after it.
    return branch->isProperAncestor(x.getParentRegion()->getParentOp()) ||
                   x.getParentRegion()->getParentOp() == branch
               ? mlir::Value()
               : x;
  }

  // --- Loops -------------------------------------------------------------------------

  // The continues and breaks of this loop, also those in ifs.
  void FindEnds(mlir::Block& block, llvm::SmallVectorImpl<mlir::Operation*>* ends) {
    for (mlir::Operation& op : block) {
      if (llvm::isa<ir::ContinueOp, ir::BreakOp>(op)) ends->push_back(&op);
      if (!llvm::isa<ir::IfOp>(op)) continue;
      for (mlir::Region& region : op.getRegions()) FindEnds(region.front(), ends);
    }
  }

  void SimplifyLoop(mlir::Operation* loop) {
    const unsigned count = loop->getNumResults();
    const unsigned first_operand = loop->getNumOperands() - count;
    mlir::Block& body = loop->getRegion(0).front();
    const unsigned first_argument = body.getNumArguments() - count;
    if (auto range = llvm::dyn_cast<ir::ForOp>(loop); range && NeverRuns(range)) {
      loop->replaceAllUsesWith(range.getInits());
      loop->erase();
      return;
    }
    if (count == 0) return;
    llvm::SmallVector<mlir::Operation*> ends;
    FindEnds(body, &ends);
    llvm::BitVector drop(count);
    for (unsigned i = 0; i < count; ++i) {
      mlir::Value argument = body.getArgument(first_argument + i);
      mlir::Value init = loop->getOperand(first_operand + i);
      const bool unchanged = llvm::all_of(ends, [&](mlir::Operation* end) {
        // Each iteration passes on what it got, or what the loop began with: the same in both
        // cases.
        return end->getOperand(i) == argument || end->getOperand(i) == init;
      });
      if (unchanged) {
        argument.replaceAllUsesWith(init);
        loop->getResult(i).replaceAllUsesWith(init);
      }
      drop[i] = loop->getResult(i).use_empty() && FeedsOnlyItself(argument, i, ends);
    }
    if (drop.none()) return;
    for (mlir::Operation* end : ends) end->eraseOperands(drop);
    llvm::BitVector operands(loop->getNumOperands()), arguments(body.getNumArguments());
    for (unsigned i = 0; i < count; ++i) {
      if (!drop[i]) continue;
      operands.set(first_operand + i);
      arguments.set(first_argument + i);
    }
    body.eraseArguments(arguments);
    loop->eraseOperands(operands);
    EraseResults(loop, drop);
  }

  bool NeverRuns(ir::ForOp loop) {
    const auto bounds = ConstantBoundsOf(loop.getLower(), loop.getUpper());
    return bounds && bounds->lower >= bounds->upper;
  }

  bool FeedsOnlyItself(mlir::Value argument, unsigned i, llvm::ArrayRef<mlir::Operation*> ends) {
    return llvm::all_of(argument.getUses(), [&](mlir::OpOperand& use) {
      return use.getOperandNumber() == i && llvm::is_contained(ends, use.getOwner());
    });
  }

  // Replaces the op by one without these results, which are unused.
  void EraseResults(mlir::Operation* op, const llvm::BitVector& drop) {
    llvm::SmallVector<mlir::Type> types;
    for (unsigned i = 0; i < drop.size(); ++i) {
      if (!drop[i]) types.push_back(op->getResult(i).getType());
    }
    // Results of an op cannot be removed, so a new op takes over its regions.
    mlir::OperationState state(op->getLoc(), op->getName(), op->getOperands(), types,
                               op->getAttrs());
    for (mlir::Region& region : op->getRegions()) state.addRegion()->takeBody(region);
    builder_.setInsertionPoint(op);
    mlir::Operation* narrow = builder_.create(state);
    unsigned kept = 0;
    for (unsigned i = 0; i < drop.size(); ++i) {
      if (!drop[i]) op->getResult(i).replaceAllUsesWith(narrow->getResult(kept++));
    }
    op->erase();
  }

  mlir::OpBuilder builder_;
};

struct SimplifyControlPass
    : mlir::PassWrapper<SimplifyControlPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyControlPass)
  llvm::StringRef getArgument() const override { return "simplify-control"; }
  void runOnOperation() override {
    mlir::Region& body = getOperation().getBodyRegion();
    DeadCode::Erase(body);  // first: what is used only by dead code counts as unused
    Simplifier(&getContext()).Simplify(body);
    DeadCode::Erase(body);
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateSimplifyControlPass() {
  return std::make_unique<SimplifyControlPass>();
}

}  // namespace kiln
