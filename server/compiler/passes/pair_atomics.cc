// Pairing of atomics: two float sums on the halves of one 8-byte word become one access.
//
//   kiln.atomic addf %v, %x              kiln.atomic addf %v, %x {pair_offset = 4}
//   kiln.atomic addf %w, %y        ->    kiln.atomic addf %w, %y
//
// Programs mostly add to the components of a vector one after the other. x86 adds floats atomically
// by compare-and-exchange, which costs as much for two floats as for one.
//
// Paired are sums and differences of f32 whose old values are unused, at the same indices, if the
// layout says that both components may be in one word, with no other access to memory in between.
// The base of a storage is known at run time only: code generation tests its alignment. It ignores
// pairs where atomics are plain.
//
// Requires: offloaded level, CSE ran (equal indices are one value), and that no pass follows which
// adds accesses. Guarantees: an atomic is in one pair at most.
#include <optional>

#include "llvm/ADT/SmallPtrSet.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

constexpr int64_t kWord = 8;  // bytes

// A component that may be half of a word.
struct Half {
  ir::GlobalOp address;
  std::pair<int64_t, int64_t> base;  // of a dense storage: base, 0; in a tree: tree, node
  int64_t offset;                    // in bytes, from an address that is a multiple of a word
};

std::optional<Half> HalfOfCell(ir::GlobalOp address, ir::TreeFieldAttr field, ir::KernelOp kernel) {
  const int component = static_cast<int>(address.getComponent());
  const int64_t tree = field.getComponentTree(component);
  const int64_t node = field.getComponentNode(component);
  if (kernel.getTree(tree).getNode(node).getCellBytes() % kWord != 0) return {};
  return Half{address, {tree, node}, field.getComponentOffset(component)};
}

std::optional<Half> HalfOfWord(ir::AtomicOp op, ir::KernelOp kernel) {
  const bool adds = op.getKind() == ir::AtomicKind::addf || op.getKind() == ir::AtomicKind::subf;
  auto address = op.getAddress().getDefiningOp<ir::GlobalOp>();
  if (!adds || !address || !op.getValue().getType().isF32() || !op.getOld().use_empty()) return {};
  if (ir::TreeFieldAttr field = kernel.getTreeField(address.getStorage())) {
    return HalfOfCell(address, field, kernel);
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[address.getStorage()]);
  if (!dense) return {};
  const int64_t component = address.getComponent(), base = dense.getComponentBase(component);
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    if (dense.getDigitStride(base, d) % kWord != 0) return {};
  }
  return Half{address, {base, 0}, dense.getComponentOffset(component)};
}

bool InOneWord(Half a, Half b) {
  return a.address.getStorage() == b.address.getStorage() && a.base == b.base &&
         a.offset != b.offset && a.offset / kWord == b.offset / kWord &&
         a.address.getIndices() == b.address.getIndices();
}

class Pairing {
 public:
  explicit Pairing(ir::KernelOp kernel) : kernel_(kernel), builder_(kernel.getContext()) {}

  void Run() {
    kernel_.walk([&](ir::AtomicOp atomic) {
      if (!taken_.contains(atomic)) Pair(atomic);
    });
  }

 private:
  // With the next atomic of the block, if nothing in between accesses memory.
  void Pair(ir::AtomicOp op) {
    const std::optional<Half> half = HalfOfWord(op, kernel_);
    if (!half) return;
    mlir::Operation* next = op->getNextNode();
    while (next && next->getNumRegions() == 0 && mlir::isMemoryEffectFree(next)) {
      next = next->getNextNode();
    }
    auto other = llvm::dyn_cast_or_null<ir::AtomicOp>(next);
    if (!other || other.getKind() != op.getKind()) return;
    const std::optional<Half> other_half = HalfOfWord(other, kernel_);
    if (!other_half || !InOneWord(*half, *other_half)) return;
    op.setPairOffsetAttr(builder_.getI64IntegerAttr(other_half->offset - half->offset));
    taken_.insert(other);
  }

  ir::KernelOp kernel_;
  mlir::OpBuilder builder_;
  llvm::SmallPtrSet<mlir::Operation*, 8> taken_;  // second ones of pairs
};

struct PairAtomicsPass : mlir::PassWrapper<PairAtomicsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PairAtomicsPass)
  llvm::StringRef getArgument() const override { return "pair-atomics"; }
  void runOnOperation() override { Pairing(getOperation()).Run(); }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreatePairAtomicsPass() { return std::make_unique<PairAtomicsPass>(); }

}  // namespace kiln
