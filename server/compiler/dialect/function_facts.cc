#include "server/compiler/dialect/function_facts.h"

#include "server/compiler/dialect/long_loops.h"

namespace kiln {

namespace {

// What a call takes over from its callee. A function's own kLeaves end the function only.
constexpr unsigned kOfCallee =
    kTouchesMemory | kIsAtomic | kActivates | kDeactivates | kQueries | kDraws | kReports | kFails;

// Whether the memory is the function's own, or an argument, which the call names.
bool IsNamedByCall(mlir::Value address) {
  mlir::Operation* made_by = ArrayOf(address).getDefiningOp();
  return made_by == nullptr || llvm::isa<ir::LocalOp, ir::LocalArrayOp>(made_by);
}

unsigned BitsOf(mlir::Operation* op) {
  const Effects effects = EffectsOf(op);
  unsigned bits = effects.bits & kOfCallee;
  if (effects.snode || !llvm::all_of(effects.reads, IsNamedByCall) ||
      !llvm::all_of(effects.writes, IsNamedByCall)) {
    bits |= kTouchesMemory;
  }
  if (Looks(*op)) bits |= kFails;
  return bits;
}

class CalledWalker {
 public:
  CalledWalker(ir::KernelOp kernel, VisitCalled visit) : visit_(visit) {
    for (auto function : kernel.getBody().getOps<ir::FunctionOp>()) {
      pending_.try_emplace(function.getNumber(), function);
    }
  }

  mlir::WalkResult Walk(mlir::Operation* root) {
    return root->walk([&](mlir::Operation* op) {
      if (visit_(op, calls_).wasInterrupted()) return mlir::WalkResult::interrupt();
      auto call = llvm::dyn_cast<ir::CallOp>(op);
      if (!call) return mlir::WalkResult::advance();
      const auto callee = pending_.find(call.getCallee());
      if (callee == pending_.end()) return mlir::WalkResult::advance();
      ir::FunctionOp function = callee->second;
      pending_.erase(callee);
      calls_.push_back(call);
      const mlir::WalkResult result = Walk(function);
      calls_.pop_back();
      return result;
    });
  }

 private:
  VisitCalled visit_;
  llvm::DenseMap<uint64_t, ir::FunctionOp> pending_;  // functions that were not visited yet
  llvm::SmallVector<ir::CallOp> calls_;
};

}  // namespace

FunctionFacts::FunctionFacts(ir::KernelOp kernel) {
  for (auto function : kernel.getBody().getOps<ir::FunctionOp>()) {
    if (function.getNumber() >= facts_.size()) facts_.resize(function.getNumber() + 1);
  }
  std::vector<std::vector<uint64_t>> callers(facts_.size());
  for (auto function : kernel.getBody().getOps<ir::FunctionOp>()) {
    unsigned& facts = facts_[function.getNumber()];
    function.walk([&](mlir::Operation* op) {
      facts |= BitsOf(op);
      auto call = llvm::dyn_cast<ir::CallOp>(op);
      if (!call) return;
      if (call.getCallee() < callers.size()) {
        callers[call.getCallee()].push_back(function.getNumber());
      } else {
        facts = kOfCallee;  // no such function: it may do anything
      }
    });
  }
  // Hands facts on to callers until none gains one. A function gains each bit at most once, so this
  // ends after a few visits of each call.
  std::vector<uint64_t> pending;
  for (uint64_t number = 0; number < facts_.size(); ++number) pending.push_back(number);
  while (!pending.empty()) {
    const uint64_t number = pending.back();
    pending.pop_back();
    for (const uint64_t caller : callers[number]) {
      if ((facts_[caller] | facts_[number]) == facts_[caller]) continue;
      facts_[caller] |= facts_[number];
      pending.push_back(caller);
    }
  }
}

Effects FunctionFacts::EffectsOf(mlir::Operation* op) const {
  Effects effects = kiln::EffectsOf(op);
  if (auto call = llvm::dyn_cast<ir::CallOp>(op)) {
    effects.bits |= call.getCallee() < facts_.size() ? facts_[call.getCallee()] : kOfCallee;
  }
  return effects;
}

bool FunctionFacts::Any(mlir::Region& region, unsigned effects) const {
  return region
      .walk([&](mlir::Operation* op) {
        return EffectsOf(op).Has(effects) ? mlir::WalkResult::interrupt()
                                          : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

mlir::WalkResult WalkCalled(ir::KernelOp kernel, mlir::Operation* task, VisitCalled visit) {
  return CalledWalker(kernel, visit).Walk(task);
}

bool WorksTogether(ir::KernelOp kernel, mlir::Operation* task) {
  const auto found = WalkCalled(kernel, task, [](mlir::Operation* op, llvm::ArrayRef<ir::CallOp>) {
    return llvm::isa<ir::SimtOp, ir::SharedArrayOp>(op) ? mlir::WalkResult::interrupt()
                                                        : mlir::WalkResult::advance();
  });
  return found.wasInterrupted();
}

bool Recurses(ir::KernelOp kernel, mlir::Operation* task) {
  const auto visit = [](mlir::Operation* op, llvm::ArrayRef<ir::CallOp> calls) {
    auto call = llvm::dyn_cast<ir::CallOp>(op);
    const bool is_under_way = call && llvm::any_of(calls, [&](ir::CallOp outer) {
                                return outer.getCallee() == call.getCallee();
                              });
    return is_under_way ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  };
  return WalkCalled(kernel, task, visit).wasInterrupted();
}

}  // namespace kiln
