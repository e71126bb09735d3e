// Hoisting of addresses that code in several blocks computes: out of ifs, to where the indices are
// known.
//
//   kiln.if %c {                                   %a = kiln.global 0 component 0[%i]
//     %a = kiln.global 0 component 0[%i]           %b = kiln.global 0 component 0[%i]
//     kiln.store %x, %a                            kiln.if %c {
//   } else {                              ->         kiln.store %x, %a
//     %b = kiln.global 0 component 0[%i]           } else {
//     kiln.store %y, %b                              kiln.store %y, %b
//   }                                              }
//
// CSE makes them one value. Behind the if, LLVM then knows what both branches stored. Otherwise a
// vector would be loaded from the cells of several earlier stores, for which processors wait.
//
// Addresses in trees stay: LLVM sees no stores there.
//
// Requires: structured level. Guarantees: no address that only one block computes moves.
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/equal_ops.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

// Moves the address out of all ifs that its indices do not depend on.
void Hoist(ir::GlobalOp address) {
  for (auto branch = llvm::dyn_cast<ir::IfOp>(address->getParentOp()); branch;
       branch = llvm::dyn_cast<ir::IfOp>(address->getParentOp())) {
    const bool depends = llvm::any_of(address.getIndices(), [&](mlir::Value index) {
      return branch->isAncestor(index.getParentRegion()->getParentOp());
    });
    if (depends) return;
    address->moveBefore(branch);
  }
}

struct HoistAddressesPass
    : mlir::PassWrapper<HoistAddressesPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistAddressesPass)
  llvm::StringRef getArgument() const override { return "hoist-addresses"; }
  void runOnOperation() override {
    // The block that computes an address; null: several do.
    llvm::DenseMap<mlir::Operation*, mlir::Block*, SameComputation> homes;
    llvm::SmallVector<ir::GlobalOp> addresses;
    getOperation().walk([&](ir::GlobalOp address) {
      if (GlobalInTree(address)) return;
      const auto [home, is_new] = homes.try_emplace(address, address->getBlock());
      if (!is_new && home->second != address->getBlock()) home->second = nullptr;
      addresses.push_back(address);
    });
    for (ir::GlobalOp address : addresses) {
      if (homes.lookup(address) == nullptr) Hoist(address);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateHoistAddressesPass() {
  return std::make_unique<HoistAddressesPass>();
}

}  // namespace kiln
