#include "server/compiler/dialect/function_facts.h"

#include "server/compiler/dialect/long_loops.h"

namespace kiln {

FunctionFacts::FunctionFacts(ir::KernelOp kernel) {
  std::vector<std::vector<uint64_t>> callers;
  for (auto function : kernel.getBody().getOps<ir::FunctionOp>()) {
    const uint64_t number = function.getNumber();
    if (number >= facts_.size()) facts_.resize(number + 1);
  }
  callers.resize(facts_.size());
  for (auto function : kernel.getBody().getOps<ir::FunctionOp>()) {
    int& facts = facts_[function.getNumber()];
    function.walk([&](mlir::Operation* op) {
      if (llvm::isa<ir::GlobalOp, ir::ComponentOp, ir::TemporaryOp, ir::ActivateOp,
                    ir::DeactivateOp, ir::IsActiveOp, ir::LengthOp, ir::AppendOp>(op)) {
        facts |= kMemory;
      }
      if (llvm::isa<ir::AtomicOp, ir::UpdateOp, ir::AppendOp>(op)) facts |= kAtomics;
      if (llvm::isa<ir::AssertOp>(op) || Looks(*op)) facts |= kEnds;
      if (llvm::isa<ir::RandomOp>(op)) facts |= kRandom;
      auto call = llvm::dyn_cast<ir::CallOp>(op);
      if (!call) return;
      if (call.getCallee() < callers.size()) {
        callers[call.getCallee()].push_back(function.getNumber());
      } else {
        facts = kAll;
      }
    });
  }
  // What a function may do, its callers may. Each gains a fact at most four times.
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

bool FunctionFacts::Draws(mlir::Region& region) const {
  return region
      .walk([&](mlir::Operation* op) {
        auto call = llvm::dyn_cast<ir::CallOp>(op);
        const bool draws = llvm::isa<ir::RandomOp>(op) || (call && Draws(call));
        return draws ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace kiln
