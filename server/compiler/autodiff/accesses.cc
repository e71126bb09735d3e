#include "server/compiler/autodiff/accesses.h"

#include <optional>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/autodiff/linear.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

using mlir::Value;

// One end of an interval: factor * argument + number.
struct Bound {
  int64_t slot = ir::AccessAttr::kUnbounded;  // as in AccessAttr
  int64_t factor = 0;
  int64_t number = 0;

  bool IsAny() const { return slot == ir::AccessAttr::kUnbounded; }
  // Whether the two differ by a number that does not depend on arguments.
  bool IsLike(const Bound& other) const {
    return !IsAny() && slot == other.slot && factor == other.factor;
  }
  bool operator==(const Bound& other) const {
    return slot == other.slot && factor == other.factor && number == other.number;
  }
};

struct Interval {
  Bound first, last;
  bool operator==(const Interval& other) const {
    return first == other.first && last == other.last;
  }
};

struct Box {
  bool writes = false;
  int64_t slot = 0, tree_node = 0, offset = 0;
  uint32_t source = 0;
  llvm::SmallVector<Interval, 4> axes;

  bool HasMemoryOf(const Box& other) const {
    return writes == other.writes && slot == other.slot && tree_node == other.tree_node &&
           offset == other.offset && axes.size() == other.axes.size();
  }
};

// Beyond all indices, which have 32 bits. Larger factors and numbers might overflow below.
constexpr int64_t kFar = int64_t{1} << 40;

// The first or last index of the loop whose block argument `index` is, as a value to which
// `*number` is to be added; null: not known.
Value EndOfLoop(Value index, bool last, int64_t* number) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(index);
  if (!argument) return {};
  *number = last ? -1 : 0;
  mlir::Operation* loop = argument.getOwner()->getParentOp();
  if (auto counted = llvm::dyn_cast<ir::ForOp>(loop); counted && index == counted.getIndex()) {
    return last ? counted.getUpper() : counted.getLower();
  }
  auto parallel = llvm::dyn_cast<ir::ParallelForOp>(loop);
  if (!parallel || parallel.isSparse()) return {};
  return (last ? parallel.getUppers() : parallel.getLowers())[argument.getArgNumber()];
}

// The least or greatest number that an index may be.
Bound EndOf(Value index, bool last) {
  Linear sum;
  sum.Add(index, 1);
  // Bounds of loops may depend on loops further out; each round goes at least one loop outwards.
  for (bool changed = true; changed;) {
    changed = false;
    sum.terms.remove_if([](const auto& term) { return term.second == 0; });
    for (const auto& [value, factor] : sum.terms) {
      if (value.getDefiningOp<ir::ArgumentOp>()) continue;
      if (factor > kFar >> 20 || factor < -(kFar >> 20)) return {};
      int64_t number = 0;
      const Value end = EndOfLoop(value, (factor > 0) == last, &number);
      if (!end) return {};
      const Value replaced = value;
      const int64_t times = factor;
      sum.terms[replaced] = 0;
      sum.Add(end, times);
      sum.number += times * number;
      changed = true;
      break;
    }
  }
  if (sum.number > kFar || sum.number < -kFar || sum.terms.size() > 1) return {};
  if (sum.terms.empty()) return {ir::AccessAttr::kNumber, 0, sum.number};
  const auto& [value, factor] = *sum.terms.begin();
  auto argument = value.getDefiningOp<ir::ArgumentOp>();
  if (argument.getIndex() || !llvm::isa<mlir::IntegerType>(argument.getType())) return {};
  if (factor > kFar >> 20 || factor < -(kFar >> 20)) return {};
  return {static_cast<int64_t>(argument.getSlot()), factor, sum.number};
}

// The storage's memory that has the component, as in AccessAttr.
void SetMemory(ir::KernelOp kernel, int64_t storage, int64_t component, Box* box) {
  const mlir::Attribute of = kernel.getStorages()[storage];
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(of)) {
    box->slot = dense.getSlot() + dense.getComponentBase(component);
    box->offset = dense.getComponentOffset(component);
  } else if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(of)) {
    // Indices out of range are those of the edge.
    if (array.getClamp()) {
      for (Interval& axis : box->axes) axis = {};
    }
    // The component is one more axis: another kernel may take the array for one of numbers.
    box->slot = array.getSlot();
    if (array.getTypes().size() > 1) {
      const Bound at{ir::AccessAttr::kNumber, 0, component};
      box->axes.push_back({at, at});
    }
  } else {
    auto field = llvm::cast<ir::TreeFieldAttr>(of);
    ir::TreeAttr tree = kernel.getTree(field.getComponentTree(component));
    int64_t node = field.getComponentNode(component);
    box->offset = field.getComponentOffset(component);
    for (; node != 0 && !tree.getNode(node).isSparse(); node = tree.getNode(node).getParent()) {
      box->offset += tree.getNode(node).getOffset();
    }
    box->tree_node = node;
    box->slot = tree.getSlot() + (node != 0 ? 1 : 0);
  }
}

// Makes `box` the union of both if that is a box: if they differ on one axis at most, and touch
// there.
bool Unite(const Box& other, Box* box) {
  if (!box->HasMemoryOf(other)) return false;
  Interval* differs = nullptr;
  const Interval* with = nullptr;
  for (size_t a = 0; a < box->axes.size(); ++a) {
    if (box->axes[a] == other.axes[a]) continue;
    if (differs != nullptr) return false;
    differs = &box->axes[a];
    with = &other.axes[a];
  }
  if (differs == nullptr) return true;
  if (!differs->first.IsLike(with->first) || !differs->last.IsLike(with->last)) return false;
  // An interval whose length depends on arguments is taken for one that reaches its neighbour.
  if (differs->first.IsLike(differs->last) && (with->first.number > differs->last.number + 1 ||
                                               differs->first.number > with->last.number + 1)) {
    return false;
  }
  differs->first.number = std::min(differs->first.number, with->first.number);
  differs->last.number = std::max(differs->last.number, with->last.number);
  return true;
}

// The accesses to one component. Kernels access their cells in few ways; of one that does not, the
// box is the whole component.
class Boxes {
 public:
  Boxes(ir::KernelOp kernel, bool writes) : kernel_(kernel), writes_(writes) {}

  void Add(mlir::Operation* op, Value address) {
    const Value array = ArrayOf(address);
    if (auto component = array.getDefiningOp<ir::ComponentOp>()) {
      for (uint64_t c = 0; c < component.getCount(); ++c) {
        Add(op, component.getStorage(), component.getFirst() + c, component.getIndices());
      }
    } else if (auto global = array.getDefiningOp<ir::GlobalOp>()) {
      const int64_t first = global.getComponent();
      // An element of an array may be of any of the components behind the first.
      const int64_t last = array == address ? first : NumComponents(global.getStorage()) - 1;
      for (int64_t c = first; c <= last; ++c) {
        Add(op, global.getStorage(), c, global.getIndices());
      }
    }
  }

  void Finish() {
    llvm::SmallVector<mlir::Attribute> all;
    if (kernel_.getAccesses())
      all.append(kernel_.getAccesses()->begin(), kernel_.getAccesses()->end());
    for (const auto& [component, boxes] : boxes_) {
      for (const Box& box : boxes) all.push_back(AttributeOf(box));
    }
    kernel_.setAccessesAttr(mlir::ArrayAttr::get(kernel_.getContext(), all));
  }

 private:
  static constexpr size_t kMost = 16;  // of a component

  int64_t NumComponents(int64_t storage) const {
    return llvm::TypeSwitch<mlir::Attribute, int64_t>(kernel_.getStorages()[storage])
        .Case<ir::DenseAttr, ir::NdarrayAttr, ir::TreeFieldAttr>(
            [](auto of) { return of.getTypes().size(); });
  }

  void Add(mlir::Operation* op, int64_t storage, int64_t component, mlir::ValueRange indices) {
    Box box;
    box.writes = writes_;
    box.source = ir::NodeOf(op->getLoc());
    llvm::SmallVector<Box, 2>& known = boxes_[{storage, component}];
    for (Value index : indices) box.axes.push_back(IntervalOf(index));
    SetMemory(kernel_, storage, component, &box);
    for (Box& other : known) {
      if (Unite(box, &other)) return;
    }
    if (known.size() == kMost) {
      known.resize(1);
      for (Interval& axis : known[0].axes) axis = {};
      return;
    }
    known.push_back(std::move(box));
  }

  Interval IntervalOf(Value index) {
    const auto [at, is_new] = intervals_.try_emplace(index);
    if (is_new) at->second = {EndOf(index, false), EndOf(index, true)};
    return at->second;
  }

  mlir::Attribute AttributeOf(const Box& box) {
    llvm::SmallVector<int64_t> bounds;
    for (const Interval& axis : box.axes) {
      for (const Bound& end : {axis.first, axis.last}) {
        bounds.append({end.slot, end.factor, end.number});
      }
    }
    mlir::MLIRContext* context = kernel_.getContext();
    return ir::AccessAttr::get(context, box.writes, box.slot, box.tree_node, box.offset, box.source,
                               mlir::DenseI64ArrayAttr::get(context, bounds));
  }

  mutable ir::KernelOp kernel_;  // its accessors are not const
  const bool writes_;
  llvm::MapVector<std::pair<int64_t, int64_t>, llvm::SmallVector<Box, 2>> boxes_;
  llvm::DenseMap<Value, Interval> intervals_;
};

}  // namespace

void AddWrites(ir::KernelOp kernel) {
  Boxes boxes(kernel, true);
  kernel.walk([&](mlir::Operation* op) {
    for (Value address : EffectsOf(op).writes) {
      if (!LocalOf(address)) boxes.Add(op, address);
    }
  });
  boxes.Finish();
}

void AddReads(ir::KernelOp kernel) {
  Boxes boxes(kernel, false);
  const llvm::ArrayRef<int64_t> companions = *kernel.getCompanions();
  kernel.walk([&](mlir::Operation* op) {
    if (mlir::isOpTriviallyDead(op)) return;
    for (Value address : EffectsOf(op).reads) {
      if (!LocalOf(address) && !llvm::is_contained(companions, StorageOf(address))) {
        boxes.Add(op, address);
      }
    }
  });
  boxes.Finish();
}

}  // namespace kiln
