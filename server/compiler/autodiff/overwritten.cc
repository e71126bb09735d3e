#include "server/compiler/autodiff/overwritten.h"

#include "server/compiler/autodiff/accesses.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/autodiff/extreme.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/autodiff/linear.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

using mlir::Value;

// The value is the location of the op that writes.
constexpr char kOverwritten[] = "overwritten";
constexpr char kOfGradient[] = "of_gradient";

// a - b, without the terms that cancel out.
Linear Difference(Value a, Value b) {
  Linear difference;
  difference.Add(a, 1);
  difference.Add(b, -1);
  difference.terms.remove_if([](const auto& term) { return term.second == 0; });
  return difference;
}

// First and last of the numbers that a sum may be: those of loop indices are between constant
// bounds, others anything.
struct Range {
  static constexpr int64_t kFar = int64_t{1} << 40;  // beyond all indices, which have 32 bits
  int64_t first = -kFar, last = kFar;
};

Range RangeOfIndex(Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  if (!argument) return {};
  Value lower, upper;
  mlir::Operation* loop = argument.getOwner()->getParentOp();
  if (auto counted = llvm::dyn_cast<ir::ForOp>(loop); counted && value == counted.getIndex()) {
    lower = counted.getLower();
    upper = counted.getUpper();
  } else if (auto parallel = llvm::dyn_cast<ir::ParallelForOp>(loop);
             parallel && !parallel.isSparse()) {
    lower = parallel.getLowers()[argument.getArgNumber()];
    upper = parallel.getUppers()[argument.getArgNumber()];
  }
  Range range;
  if (!lower) return range;
  if (const auto first = ConstantOf(lower)) range.first = *first;
  if (const auto end = ConstantOf(upper)) range.last = *end - 1;
  return range;
}

Range RangeOf(const Linear& sum) {
  Range range{sum.number, sum.number};
  for (const auto& [value, times] : sum.terms) {
    // Beyond these, the sums below may overflow, as may the program's own.
    if (times > Range::kFar >> 20 || times < -(Range::kFar >> 20)) return {};
    const Range term = RangeOfIndex(value);
    range.first += times * (times > 0 ? term.first : term.last);
    range.last += times * (times > 0 ? term.last : term.first);
  }
  return range;
}

bool AreDisjoint(Value i, Value j) {
  Linear a, b;
  a.Add(i, 1);
  b.Add(j, 1);
  const Range x = RangeOf(a), y = RangeOf(b);
  return x.last < y.first || y.last < x.first;
}

bool IsOutside(Value value, mlir::Operation* loop) {
  return !loop->getRegion(0).isAncestor(value.getParentRegion());
}

// Calls `differs` with the indices of two accesses to one storage, axis by axis, until it is true:
// then the accesses are to different cells.
bool AnyAxis(Value a, Value b, llvm::function_ref<bool(Value, Value)> differs) {
  auto x = a.getDefiningOp<ir::GlobalOp>(), y = b.getDefiningOp<ir::GlobalOp>();
  if (!x || !y || x.getStorage() != y.getStorage()) return false;
  auto kernel = x->getParentOfType<ir::KernelOp>();
  for (size_t axis = 0; axis < x.getIndices().size(); ++axis) {
    if (Distinguishes(kernel, x.getStorage(), x.getComponent(), axis) &&
        (AreDisjoint(x.getIndices()[axis], y.getIndices()[axis]) ||
         differs(x.getIndices()[axis], y.getIndices()[axis]))) {
      return true;
    }
  }
  return false;
}

// Whether two accesses of one run of their innermost common block may be to the same cell. Values
// of that block and of those around it are the same for both.
bool MayMeet(Value read, Value write) {
  return !AnyAxis(read, write, [](Value i, Value j) {
    const Linear difference = Difference(i, j);
    return difference.terms.empty() && difference.number != 0;
  });
}

// Whether an access in an iteration of a loop may be to the cell that a later iteration writes.
// Values from outside of the loop are the same for both, other values may be any.
bool MayMeetLater(mlir::Operation* loop, Value read, Value write) {
  auto counted = llvm::dyn_cast<ir::ForOp>(loop);
  const Value index = counted ? counted.getIndex() : Value();
  return !AnyAxis(read, write, [&](Value i, Value j) {
    Linear a, b;
    a.Add(i, 1);
    b.Add(j, 1);
    const int64_t factor = index ? a.terms.lookup(index) : 0;
    if (index && b.terms.lookup(index) != factor) return false;
    for (const Linear* side : {&a, &b}) {
      for (const auto& [value, times] : side->terms) {
        if (value != index && times != 0 && !IsOutside(value, loop)) return false;
      }
    }
    const Linear difference = Difference(i, j);
    if (!difference.terms.empty()) return false;
    // The same cell if the write's iteration is `distance` behind: number = factor * distance.
    if (factor == 0) return difference.number != 0;
    return difference.number % factor != 0 || difference.number / factor < 1;
  });
}

// Whether the write may happen after the read, to the same cell.
bool MayOverwrite(mlir::Operation* read, Value read_address, mlir::Operation* write,
                  Value write_address) {
  mlir::Block* block = read->getBlock();
  mlir::Operation* behind = nullptr;
  while ((behind = block->findAncestorOpInBlock(*write)) == nullptr) {
    block = block->getParentOp()->getBlock();
  }
  mlir::Operation* before = block->findAncestorOpInBlock(*read);
  const bool follows = before != behind && before->isBeforeInBlock(behind);
  if (follows && MayMeet(read_address, write_address)) return true;
  for (mlir::Operation* loop = block->getParentOp(); !llvm::isa<ir::KernelOp>(loop);
       loop = loop->getParentOp()) {
    // The order of a parallel loop's iterations is not defined.
    if (llvm::isa<ir::ParallelForOp>(loop)) break;
    const bool is_loop = llvm::isa<ir::ForOp, ir::LoopOp>(loop);
    if (is_loop && MayMeetLater(loop, read_address, write_address)) return true;
  }
  return false;
}

// The cells to which an address may lead. Arrays that are arguments may be the same array, but
// launches of gradients refuse such arguments: a write to one is none to another.
MemoryClass CellsAt(ir::KernelOp kernel, Value address) {
  const int64_t storage = StorageOf(address);
  if (storage >= 0 && llvm::isa<ir::NdarrayAttr>(kernel.getStorages()[storage])) {
    return {MemoryClass::kStorage, storage};
  }
  return ClassOf(address);
}

struct Access {
  mlir::Operation* op;
  Value address;
  MemoryClass cells;
};

// Writes of the op and of those in it to memory other than locals.
llvm::SmallVector<Access> WritesOf(mlir::Operation* of) {
  llvm::SmallVector<Access> found;
  auto kernel = llvm::dyn_cast<ir::KernelOp>(of);
  if (!kernel) kernel = of->getParentOfType<ir::KernelOp>();
  of->walk([&](mlir::Operation* op) {
    for (Value address : EffectsOf(op).writes) {
      if (!LocalOf(address)) found.push_back({op, address, CellsAt(kernel, address)});
    }
  });
  return found;
}

void Mark(mlir::Operation* read, mlir::Operation* write) {
  read->setAttr(kOverwritten, mlir::LocationAttr(write->getLoc()));
}

// The reverse of an atomic minimum or maximum compares values with what it has left: marks it if
// another op may write there later. More of the same kind only move on the extreme value.
void MarkExtreme(ir::KernelOp kernel, ir::AtomicOp atomic, llvm::ArrayRef<Access> writes) {
  if (!IsExtremeAtomic(atomic) || LocalOf(atomic.getAddress())) return;
  const MemoryClass cells = CellsAt(kernel, atomic.getAddress());
  for (const Access& write : writes) {
    auto other = llvm::dyn_cast<ir::AtomicOp>(write.op);
    if (other && other.getKind() == atomic.getKind()) continue;
    if (MayOverlap(cells, write.cells) &&
        MayOverwrite(atomic, atomic.getAddress(), write.op, write.address)) {
      return Mark(atomic, write.op);
    }
  }
}

// --- SNodes

using SNode = std::pair<int64_t, int64_t>;  // the tree, the node

// The sparse SNodes from the root to one.
void AddSparsePath(ir::KernelOp kernel, SNode node, llvm::DenseSet<SNode>* out) {
  ir::TreeAttr tree = kernel.getTree(node.first);
  for (int64_t n : tree.getPath(node.second)) {
    if (tree.getNode(n).isSparse()) out->insert({node.first, n});
  }
}

SNode NodeOf(ir::KernelOp kernel, int64_t storage) {
  ir::TreeFieldAttr field = kernel.getTreeField(storage);
  return {field.getTree(), field.getNode()};
}

// Whether the access is to the cell that the loop over active cells is at.
bool IsAtLoopsCell(ir::GlobalOp global) {
  auto loop = llvm::dyn_cast<ir::ParallelForOp>(ParallelScope(global));
  if (!loop || !loop.isSparse()) return false;
  const auto arguments = loop.getBody().getArguments();
  return llvm::equal(global.getIndices(), arguments);
}

// The SNodes whose cells an op may activate.
llvm::DenseSet<SNode> ActivatedBy(ir::KernelOp kernel, mlir::Operation* op) {
  llvm::DenseSet<SNode> found;
  const Effects effects = EffectsOf(op);
  for (Value address : effects.writes) {
    ir::GlobalOp global = GlobalInTree(address);
    if (!global || global.getNoActivate()) continue;
    ir::TreeFieldAttr field = kernel.getTreeField(global.getStorage());
    const int c = static_cast<int>(global.getComponent());
    AddSparsePath(kernel, {field.getComponentTree(c), field.getComponentNode(c)}, &found);
    if (!IsAtLoopsCell(global)) continue;
    llvm::DenseSet<SNode> of_loop;
    auto loop = llvm::cast<ir::ParallelForOp>(ParallelScope(global));
    AddSparsePath(kernel, NodeOf(kernel, *loop.getOver()), &of_loop);
    for (const SNode& node : of_loop) found.erase(node);
  }
  if (effects.snode && effects.Has(kActivates | kDeactivates)) {
    AddSparsePath(kernel, NodeOf(kernel, *effects.snode), &found);
  }
  return found;
}

// --- Reports

struct CheckReadsPass : mlir::PassWrapper<CheckReadsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckReadsPass)
  llvm::StringRef getArgument() const override { return "check-reads"; }

  void runOnOperation() override {
    ir::KernelOp kernel = getOperation();
    if (!kernel.getCompanions()) return;
    const auto found = kernel.walk([&](mlir::Operation* op) {
      const bool is_gradient = op->removeAttr(kOfGradient) != nullptr;
      const mlir::Attribute write = op->removeAttr(kOverwritten);
      if (mlir::isOpTriviallyDead(op)) return mlir::WalkResult::advance();
      if (is_gradient) {
        op->emitError("Cannot automatically differentiate through a grad tensor");
        return mlir::WalkResult::interrupt();
      }
      if (!write) return mlir::WalkResult::advance();
      op->emitError(
            "the gradient of this kernel needs the value that is read here, but the "
            "kernel overwrites it later: keep the old value in another field")
              .attachNote(mlir::Location(llvm::cast<mlir::LocationAttr>(write)))
          << "overwritten here";
      return mlir::WalkResult::interrupt();
    });
    if (found.wasInterrupted()) return signalPassFailure();
    if (!kernel.getForward()) AddReads(kernel);
    kernel.removeCompanionsAttr();
    kernel.setForward(false);
  }
};

}  // namespace

void MarkOverwritten(ir::KernelOp kernel) {
  const llvm::SmallVector<Access> writes = WritesOf(kernel);
  const llvm::ArrayRef<int64_t> companions = *kernel.getCompanions();
  llvm::SmallVector<std::pair<mlir::Operation*, llvm::DenseSet<SNode>>> activations;
  kernel.walk([&](mlir::Operation* op) {
    if (llvm::DenseSet<SNode> nodes = ActivatedBy(kernel, op); !nodes.empty()) {
      activations.push_back({op, std::move(nodes)});
    }
  });
  kernel.walk([&](mlir::Operation* op) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op); load && !LocalOf(load.getAddress())) {
      const MemoryClass cells = CellsAt(kernel, load.getAddress());
      const int64_t storage = StorageOf(load.getAddress());
      if (storage >= 0 && llvm::is_contained(companions, storage)) {
        op->setAttr(kOfGradient, mlir::UnitAttr::get(op->getContext()));
      }
      for (const Access& write : writes) {
        if (MayOverlap(cells, write.cells) &&
            MayOverwrite(op, load.getAddress(), write.op, write.address)) {
          return Mark(op, write.op);
        }
      }
      return;
    }
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) return MarkExtreme(kernel, atomic, writes);
    const Effects effects = EffectsOf(op);
    if (!effects.Has(kQueries) || !effects.snode) return;
    llvm::DenseSet<SNode> asked;
    AddSparsePath(kernel, NodeOf(kernel, *effects.snode), &asked);
    for (const auto& [by, nodes] : activations) {
      for (const SNode& node : nodes) {
        if (asked.contains(node)) return Mark(op, by);
      }
    }
  });
}

void MarkWrittenBy(mlir::Operation* loop, mlir::Operation* again) {
  auto kernel = loop->getParentOfType<ir::KernelOp>();
  const llvm::SmallVector<Access> writes = WritesOf(loop);
  again->walk([&](ir::LoadOp load) {
    if (LocalOf(load.getAddress())) return;
    const MemoryClass cells = CellsAt(kernel, load.getAddress());
    for (const Access& write : writes) {
      if (MayOverlap(cells, write.cells)) return Mark(load, write.op);
    }
  });
}

mlir::LogicalResult CheckActivation(ir::KernelOp kernel) {
  if (!kernel.getTrees()) return mlir::success();
  // Over which the code so far has looped.
  llvm::DenseSet<SNode> looped;
  const auto found = kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (EffectsOf(op).Has(kDeactivates)) {
      op->emitError(
          "the gradient of a kernel that deactivates cells is not supported: deactivate them in a "
          "kernel of its own");
      return mlir::WalkResult::interrupt();
    }
    if (auto loop = llvm::dyn_cast<ir::ParallelForOp>(op); loop && loop.isSparse()) {
      AddSparsePath(kernel, NodeOf(kernel, *loop.getOver()), &looped);
    }
    for (const SNode& node : ActivatedBy(kernel, op)) {
      if (!looped.contains(node)) continue;
      op->emitError(
          "the gradient of a kernel that may activate cells of an SNode over which it loops is not "
          "supported: activate them in a kernel of its own");
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return mlir::failure(found.wasInterrupted());
}

std::unique_ptr<mlir::Pass> CreateCheckReadsPass() { return std::make_unique<CheckReadsPass>(); }

}  // namespace kiln
