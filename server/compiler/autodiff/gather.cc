// Turns atomic additions to cells at fixed distances into sums: what scatters becomes a gather.
//
//   parallel_for (%i) = 1 to n-1 {           parallel_for (%j) = 2 to n-2 {
//     atomic addf v(%i), g[%i - 1]             g[%j] += v(%j + 1) + v(%j - 1)
//     atomic addf v(%i), g[%i + 1]    ->     }
//     rest(%i)                               // likewise the cells at the edge, with atomics
//   }                                        parallel_for (%i) = 1 to n-1 { rest(%i) }
//
//   parallel_for (%i) = 0 to m {             parallel_for (%k) = 0 to n {
//     for %k = 0 to n {                        %sum = for %i = 0 to m { %sum += v(%i, %k) }
//       atomic addf v(%i, %k), g[%k]  ->       g[%k] += %sum
//     }                                      }
//   }
//
// The first is what the reverse of a stencil looks like, the second that of a matrix product. The
// values are computed again in each loop. That costs less than atomics, and LLVM vectorises it.
//
// Loops whose index is in no axis of the cell (addition.h) are summed over; the others become the
// dimensions of the new loop, which runs over the cells. The loop must write nothing that the
// values depend on, except for own cells after they were read, as gradients are cleared.
//
// Requires: structured level, before `offload`.
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "server/compiler/autodiff/addition.h"
#include "server/compiler/autodiff/autodiff.h"
#include "server/compiler/autodiff/flow.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using mlir::Value;

// Additions whose new loops have the same dimensions.
struct Group {
  std::vector<Addition> additions;
  // By axis with an index: the least and the greatest offset.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> offsets;
};

// Costs in the units of passes/cost.cc. An addition may cost this much more than an atomic one,
// because it runs in vectors.
constexpr int kMostCost = 160;
constexpr int kMostOps = 2000;  // of all values of a group

class Gathering {
 public:
  Gathering(ir::KernelOp kernel, ir::ParallelForOp loop)
      : kernel_(kernel), loop_(loop), b_(kernel.getContext()) {}

  void Run() {
    if (loop_.isSparse() || !HasOnlyMemoryOps(loop_)) return;
    std::vector<Addition> additions;
    loop_.walk([&](ir::AtomicOp op) {
      if (std::optional<Addition> found = ParseAddition(kernel_, loop_, op)) {
        additions.push_back(*std::move(found));
      }
    });
    for (Group& group : Groups(additions)) {
      if (!Pays(group)) continue;
      b_.setInsertionPoint(loop_);
      Gather(group);
      if (IsWide(group)) AddEdges(group);
      for (const Addition& addition : group.additions) addition.op->erase();
    }
  }

 private:
  // --- What can be gathered ----------------------------------------------------------------

  static bool AreLike(const Addition& a, const Addition& b) {
    if (a.indices.size() != b.indices.size() || a.axes.size() != b.axes.size()) return false;
    for (size_t i = 0; i < a.indices.size(); ++i) {
      if (a.indices[i].value != b.indices[i].value) return false;
    }
    for (size_t i = 0; i < a.axes.size(); ++i) {
      if (a.axes[i].index != b.axes[i].index || a.axes[i].sign != b.axes[i].sign) return false;
    }
    return true;
  }

  std::vector<Group> Groups(llvm::ArrayRef<Addition> additions) {
    std::vector<Group> groups;
    for (const Addition& addition : additions) {
      const bool is_own = IsBesideOwn(loop_, addition);
      Group* into = nullptr;
      for (Group& group : groups) {
        // Without a fixed shape relative to the loop, an edge could not be told.
        const bool fits = is_own && IsBesideOwn(loop_, group.additions[0]);
        if (fits && AreLike(group.additions[0], addition)) into = &group;
      }
      if (into == nullptr) into = &groups.emplace_back();
      into->additions.push_back(addition);
    }
    for (Group& group : groups) SetOffsets(&group);
    llvm::erase_if(groups, [&](const Group& group) {
      // Cells of one distance are left to demote-atomics.
      return IsBesideOwn(loop_, group.additions[0]) && !IsWide(group);
    });
    llvm::erase_if(groups, [&](const Group& group) {
      return !llvm::all_of(group.additions, [&](const Addition& a) { return MayMove(a); });
    });
    return groups;
  }

  static void SetOffsets(Group* group) {
    for (size_t a = 0; a < group->additions[0].axes.size(); ++a) {
      auto& [least, most] = group->offsets.emplace_back(group->additions[0].axes[a].offset,
                                                        group->additions[0].axes[a].offset);
      for (const Addition& addition : group->additions) {
        least = std::min(least, addition.axes[a].offset);
        most = std::max(most, addition.axes[a].offset);
      }
    }
  }

  static bool IsWide(const Group& group) {
    return llvm::any_of(group.offsets,
                        [](const auto& range) { return range.first != range.second; });
  }

  // Whether nothing in the loop sees the cells to which the addition goes, so that it may happen
  // before the loop.
  bool MayMove(const Addition& addition) {
    if (IsBesideOwn(loop_, addition) &&
        llvm::any_of(addition.axes, [](const Axis& axis) { return axis.sign < 0; })) {
      return false;  // the edges below are for distances
    }
    const MemoryClass cells = ClassOf(addition.op.getAddress());
    const auto found = loop_.walk([&](mlir::Operation* op) {
      const Effects effects = EffectsOf(op);
      for (Value address : effects.reads) {
        const bool adds = llvm::isa<ir::AtomicOp>(op) && op->use_empty();
        if (!LocalOf(address) && !adds && MayOverlap(ClassOf(address), cells)) {
          return mlir::WalkResult::interrupt();
        }
      }
      // A plain write, or an atomic of another kind, is not to be reordered with the addition.
      for (Value address : effects.writes) {
        auto atomic = llvm::dyn_cast<ir::AtomicOp>(op);
        const bool adds = atomic && atomic.getKind() == ir::AtomicKind::addf;
        if (!LocalOf(address) && !adds && MayOverlap(ClassOf(address), cells)) {
          return mlir::WalkResult::interrupt();
        }
      }
      return mlir::WalkResult::advance();
    });
    return !found.wasInterrupted();
  }

  // --- Values ---------------------------------------------------------------------------------

  // Whether the load gives the same before the loop: nothing in the loop writes there, or the
  // iteration writes to its own cell afterwards.
  bool IsStable(ir::LoadOp load) {
    const auto [at, is_new] = stable_.try_emplace(load, true);
    if (!is_new) return at->second;
    const MemoryClass cells = ClassOf(load.getAddress());
    const auto found = loop_.walk([&](mlir::Operation* op) {
      for (Value address : EffectsOf(op).writes) {
        if (LocalOf(address) || !MayOverlap(ClassOf(address), cells)) continue;
        if (!IsOwnCellWrittenLater(load, op, address)) return mlir::WalkResult::interrupt();
      }
      return mlir::WalkResult::advance();
    });
    return stable_[load] = !found.wasInterrupted();
  }

  bool IsOwnCellWrittenLater(ir::LoadOp load, mlir::Operation* write, Value address) {
    auto read = load.getAddress().getDefiningOp<ir::GlobalOp>();
    auto written = address.getDefiningOp<ir::GlobalOp>();
    if (!llvm::isa<ir::StoreOp>(write) || !read || !written ||
        read.getStorage() != written.getStorage() ||
        read.getComponent() != written.getComponent() ||
        read.getIndices() != written.getIndices()) {
      return false;
    }
    if (!IsOwnCell(kernel_, loop_, read)) return false;
    mlir::Block& body = loop_.getBodyRegion().front();
    mlir::Operation* before = body.findAncestorOpInBlock(*load);
    mlir::Operation* after = body.findAncestorOpInBlock(*write);
    return before != after && before->isBeforeInBlock(after);
  }

  // Adds to `cost` and `ops` what it takes to compute a value before the loop, from loop indices
  // and values from outside; false if that cannot be.
  bool Measure(Value value, llvm::DenseSet<mlir::Operation*>* seen, int* cost) {
    if (IsOutside(loop_, value)) return true;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      mlir::Operation* of = argument.getOwner()->getParentOp();
      auto counted = llvm::dyn_cast<ir::ForOp>(of);
      return of == loop_ || (counted && value == counted.getIndex());
    }
    return Measure(value.getDefiningOp(), seen, cost);
  }

  bool Measure(mlir::Operation* op, llvm::DenseSet<mlir::Operation*>* seen, int* cost) {
    if (!seen->insert(op).second) return true;
    auto load = llvm::dyn_cast<ir::LoadOp>(op);
    // Locals that are left have addresses that other code uses.
    if (load && (LocalOf(load.getAddress()) || !IsStable(load))) return false;
    if (!load && !mlir::isPure(op)) return false;
    *cost += load ? 2 : llvm::isa<mlir::math::MathDialect>(op->getDialect()) ? 20 : 1;
    if (op->getNumRegions() > 0) return false;  // of results of loops and branches
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return Measure(operand, seen, cost); });
  }

  bool Pays(const Group& group) {
    int total = 0;
    for (const Addition& addition : group.additions) {
      llvm::DenseSet<mlir::Operation*> seen;
      int cost = 0;
      if (!Measure(addition.op.getValue(), &seen, &cost)) return false;
      for (mlir::Operation* at = addition.op->getParentOp(); at != loop_; at = at->getParentOp()) {
        auto branch = llvm::dyn_cast<ir::IfOp>(at);
        if (branch && !Measure(branch.getCondition(), &seen, &cost)) return false;
      }
      if (cost > kMostCost) return false;
      total += static_cast<int>(seen.size());
    }
    return total <= kMostOps && NumCells(group.additions[0]).value_or(kFewestCells) >= kFewestCells;
  }

  // --- The new loops --------------------------------------------------------------------------

  Value Number(int64_t number) {
    return b_.create<arith::ConstantOp>(loop_.getLoc(),
                                        b_.getI32IntegerAttr(static_cast<int32_t>(number)));
  }
  Value Plus(Value value, int64_t number) {
    if (number == 0) return value;
    return b_.create<arith::AddIOp>(loop_.getLoc(), value, Number(number));
  }
  Value Minus(Value a, Value b) { return b_.create<arith::SubIOp>(loop_.getLoc(), a, b); }

  // Bounds of loops and indices of cells have 32 bits, loops of gradients 64.
  Value Narrow(Value value) {
    if (value.getType() == b_.getI32Type()) return value;
    return value.getType().getIntOrFloatBitWidth() > 32
               ? b_.create<arith::TruncIOp>(loop_.getLoc(), b_.getI32Type(), value).getResult()
               : b_.create<arith::ExtSIOp>(loop_.getLoc(), b_.getI32Type(), value).getResult();
  }
  Value As(mlir::Type type, Value value) {
    if (value.getType() == type) return value;
    return type.getIntOrFloatBitWidth() > 32
               ? b_.create<arith::ExtSIOp>(loop_.getLoc(), type, value).getResult()
               : b_.create<arith::TruncIOp>(loop_.getLoc(), type, value).getResult();
  }

  // A parallel loop, with the builder in its body. The body still lacks its end.
  ir::ParallelForOp NewLoop(llvm::ArrayRef<Value> lowers, llvm::ArrayRef<Value> uppers) {
    auto made = b_.create<ir::ParallelForOp>(loop_.getLoc(), lowers, uppers, mlir::IntegerAttr(),
                                             loop_.getMaxThreadsAttr(), loop_.getBlockDimAttr());
    mlir::Block& body = made.getBodyRegion().emplaceBlock();
    for (size_t d = 0; d < lowers.size(); ++d) body.addArgument(b_.getI32Type(), loop_.getLoc());
    b_.setInsertionPointToStart(&body);
    return made;
  }

  void EndLoop(ir::ParallelForOp made) {
    b_.create<ir::ContinueOp>(loop_.getLoc());
    b_.setInsertionPointAfter(made);
  }

  // The address of the addition's cell: `cells` has the index of each axis that has a loop index.
  Value AddressAt(const Addition& addition, llvm::ArrayRef<Value> cells) {
    llvm::SmallVector<Value> indices;
    for (const Axis& axis : addition.axes) {
      indices.push_back(axis.index < 0 ? axis.fixed : cells[indices.size()]);
    }
    auto address = llvm::cast<ir::GlobalOp>(b_.clone(*addition.address));
    address.getIndicesMutable().assign(indices);
    return address.getAddress();
  }

  // The loop over the cells all of whose additions are there.
  void Gather(const Group& group) {
    const Addition& first = group.additions[0];
    llvm::SmallVector<Value> lowers, uppers;
    for (auto [a, axis] : llvm::enumerate(first.axes)) {
      if (axis.index < 0) continue;
      const Value lower = Narrow(first.indices[axis.index].lower);
      const Value upper = Narrow(first.indices[axis.index].upper);
      const auto [least, most] = group.offsets[a];
      if (axis.sign > 0) {
        lowers.push_back(Plus(lower, most));
        uppers.push_back(Plus(upper, least));
      } else {
        lowers.push_back(Minus(Number(least + 1), upper));
        uppers.push_back(Minus(Number(least + 1), lower));
      }
    }
    ir::ParallelForOp made = NewLoop(lowers, uppers);
    llvm::SmallVector<Value> cells(first.axes.size());
    int dimension = 0;
    for (auto [a, axis] : llvm::enumerate(first.axes)) {
      if (axis.index >= 0) cells[a] = made.getBody().getArgument(dimension++);
    }
    // Additions to one cell are one.
    llvm::SmallVector<std::pair<const Addition*, Sum>, 4> sums;
    for (const Addition& addition : group.additions) {
      mlir::IRMapping at;
      for (auto [a, axis] : llvm::enumerate(addition.axes)) {
        if (axis.index < 0) continue;
        const Value index =
            axis.sign > 0 ? Plus(cells[a], -axis.offset) : Minus(Number(axis.offset), cells[a]);
        const Value of = addition.indices[axis.index].value;
        at.map(of, As(of.getType(), index));
        at.map(addition.address.getIndices()[a], cells[a]);  // the same by shorter code
      }
      const Sum sum = SumOf(addition, at);
      auto* same = llvm::find_if(sums, [&](auto& one) { return AreOneCell(*one.first, addition); });
      if (same == sums.end()) {
        sums.push_back({&addition, sum});
      } else {
        same->second = {AddFloats(same->second.value, sum.value),
                        Or(same->second.happens, sum.happens)};
      }
    }
    for (const auto& [addition, sum] : sums) {
      If(sum.happens, [&, &addition = addition, &value = sum.value] {
        const Value address = AddressAt(*addition, cells);
        const Value old = b_.create<ir::LoadOp>(loop_.getLoc(), value.getType(), address);
        b_.create<ir::StoreOp>(loop_.getLoc(), AddFloats(old, value), address);
      });
    }
    EndLoop(made);
  }

  // Of additions of a group, whose axes have the same indices.
  static bool AreOneCell(const Addition& a, const Addition& b) {
    if (a.address.getStorage() != b.address.getStorage() ||
        a.address.getComponent() != b.address.getComponent()) {
      return false;
    }
    for (size_t i = 0; i < a.axes.size(); ++i) {
      if (a.axes[i].fixed != b.axes[i].fixed) return false;
    }
    return true;
  }

  Value AddFloats(Value a, Value b) {
    return b_.create<arith::AddFOp>(loop_.getLoc(), a, b, ir::FloatFlags(kernel_.getFastMath()));
  }

  // What is added to a cell, and whether anything is: if not, the cell may not exist.
  struct Sum {
    Value value;
    Value happens;  // null: always
  };

  // What the addition adds in one iteration of the loops in `at`, summed over those that are not.
  Sum SumOf(const Addition& addition, mlir::IRMapping& at) {
    if (!Branches(addition).empty()) {
      const llvm::SmallVector<Value, 2> sum = SumOver(addition, addition.indices, at);
      return {sum[0], sum[1]};
    }
    Value happens;
    for (const LoopIndex& index : addition.indices) {
      if (at.contains(index.value) || IsNeverEmpty(index)) continue;
      const Value runs = b_.create<arith::CmpIOp>(loop_.getLoc(), arith::CmpIPredicate::slt,
                                                  index.lower, index.upper);
      happens = And(happens, runs);
    }
    return {SumOver(addition, addition.indices, at)[0], happens};
  }

  static bool IsNeverEmpty(const LoopIndex& index) {
    const auto bounds = ConstantBoundsOf(index.lower, index.upper);
    return bounds && bounds->lower < bounds->upper;
  }

  // The value and, if the addition is in a branch, whether the branch was ever taken.
  llvm::SmallVector<Value, 2> SumOver(const Addition& addition, llvm::ArrayRef<LoopIndex> loops,
                                      mlir::IRMapping& at) {
    while (!loops.empty() && at.contains(loops.front().value)) loops = loops.drop_front();
    if (loops.empty()) return Guarded(addition, Branches(addition), at);
    const mlir::Location loc = loop_.getLoc();
    const LoopIndex& index = loops.front();
    const llvm::SmallVector<Value, 2> none = Nothing(addition);
    auto sum = b_.create<ir::ForOp>(loc, mlir::ValueRange(none).getTypes(), index.lower,
                                    index.upper, none);
    mlir::OpBuilder::InsertionGuard guard(b_);
    mlir::Block& body = sum.getBodyRegion().emplaceBlock();
    mlir::IRMapping inside = at;
    inside.map(index.value, body.addArgument(index.value.getType(), loc));
    llvm::SmallVector<Value, 2> so_far;
    for (Value value : none) so_far.push_back(body.addArgument(value.getType(), loc));
    b_.setInsertionPointToStart(&body);
    const llvm::SmallVector<Value, 2> one = SumOver(addition, loops.drop_front(), inside);
    so_far[0] = AddFloats(so_far[0], one[0]);
    if (so_far.size() > 1) so_far[1] = b_.create<arith::OrIOp>(loc, so_far[1], one[1]);
    b_.create<ir::ContinueOp>(loc, so_far);
    return {sum.getResults().begin(), sum.getResults().end()};
  }

  // The branches around an addition, innermost first, and whether it is in their first block.
  llvm::SmallVector<std::pair<ir::IfOp, bool>> Branches(const Addition& addition) {
    llvm::SmallVector<std::pair<ir::IfOp, bool>> found;
    for (mlir::Operation* op = addition.op->getParentOp(); op != loop_; op = op->getParentOp()) {
      if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
        found.push_back(
            {branch, branch.getThenRegion().isAncestor(addition.op->getParentRegion())});
      }
    }
    return found;
  }

  // Of an addition that does not happen, as SumOver returns it.
  llvm::SmallVector<Value, 2> Nothing(const Addition& addition) {
    const mlir::Location loc = loop_.getLoc();
    llvm::SmallVector<Value, 2> none;
    none.push_back(
        b_.create<arith::ConstantOp>(loc, b_.getFloatAttr(addition.op.getValue().getType(), 0)));
    if (!Branches(addition).empty()) {
      none.push_back(b_.create<arith::ConstantOp>(loc, b_.getBoolAttr(false)));
    }
    return none;
  }

  llvm::SmallVector<Value, 2> Guarded(const Addition& addition,
                                      llvm::ArrayRef<std::pair<ir::IfOp, bool>> branches,
                                      mlir::IRMapping& at) {
    const mlir::Location loc = loop_.getLoc();
    if (branches.empty()) {
      llvm::SmallVector<Value, 2> sum = {ComputeAgain(b_, loop_, addition.op.getValue(), at)};
      if (!Branches(addition).empty()) {
        sum.push_back(b_.create<arith::ConstantOp>(loc, b_.getBoolAttr(true)));
      }
      return sum;
    }
    auto [branch, is_then] = branches.back();
    const mlir::Type types[] = {addition.op.getValue().getType(), b_.getI1Type()};
    auto made = b_.create<ir::IfOp>(loc, types, ComputeAgain(b_, loop_, branch.getCondition(), at));
    mlir::OpBuilder::InsertionGuard guard(b_);
    for (mlir::Region& region : made->getRegions()) {
      b_.setInsertionPointToStart(&region.emplaceBlock());
      const bool is_taken = (&region == &made.getThenRegion()) == is_then;
      mlir::IRMapping inside = at;
      b_.create<ir::YieldOp>(
          loc, is_taken ? Guarded(addition, branches.drop_back(), inside) : Nothing(addition));
    }
    return {made.getResults().begin(), made.getResults().end()};
  }

  // Runs `make` only if `happens`, which is null if that is always so.
  void If(Value happens, llvm::function_ref<void()> make) {
    if (!happens) return make();
    auto branch = b_.create<ir::IfOp>(loop_.getLoc(), mlir::TypeRange(), happens);
    mlir::OpBuilder::InsertionGuard guard(b_);
    for (mlir::Region& region : branch->getRegions()) {
      b_.setInsertionPointToStart(&region.emplaceBlock());
      if (&region == &branch.getThenRegion()) make();
      b_.create<ir::YieldOp>(loop_.getLoc());
    }
  }

  // Of conditions that are null if they always hold.
  Value And(Value a, Value b) {
    if (!a || !b) return a ? a : b;
    return b_.create<arith::AndIOp>(loop_.getLoc(), a, b);
  }
  Value Or(Value a, Value b) {
    if (!a || !b) return {};
    return b_.create<arith::OrIOp>(loop_.getLoc(), a, b);
  }

  // The additions to cells some of whose additions are not there: those of iterations at the edge,
  // dimension by dimension. An iteration is at the edge in the first dimension in which it is less
  // than the group's width away from one of its bounds.
  void AddEdges(const Group& group) {
    const Addition& first = group.additions[0];
    llvm::SmallVector<Value> lowers, uppers;  // of the dimensions so far: without the edges
    llvm::SmallVector<Edge> edges;
    for (int d = 0; d < static_cast<int>(loop_.getLowers().size()); ++d) {
      const auto* axis = llvm::find_if(first.axes, [&](const Axis& a) { return a.index == d; });
      const auto [least, most] = group.offsets[axis - first.axes.begin()];
      edges.push_back(
          {Narrow(loop_.getLowers()[d]), Narrow(loop_.getUppers()[d]), most - least, least, most});
    }
    for (size_t d = 0; d < edges.size(); ++d) {
      if (edges[d].width > 0) AddEdge(group, edges, d);
    }
  }

  struct Edge {
    Value lower, upper;  // of the loop
    int64_t width, least, most;
  };

  void AddEdge(const Group& group, llvm::ArrayRef<Edge> edges, size_t at) {
    const mlir::Location loc = loop_.getLoc();
    llvm::SmallVector<Value> lowers, uppers;
    for (auto [d, edge] : llvm::enumerate(edges)) {
      if (d < at) {
        lowers.push_back(Plus(edge.lower, edge.width));
        uppers.push_back(Plus(edge.upper, -edge.width));
      } else if (d == at) {
        // First the iterations near the lower bound, then those near the upper one.
        lowers.push_back(Number(0));
        uppers.push_back(
            b_.create<arith::MinSIOp>(loc, Number(2 * edge.width), Minus(edge.upper, edge.lower)));
      } else {
        lowers.push_back(edge.lower);
        uppers.push_back(edge.upper);
      }
    }
    const Value count = uppers[at];
    ir::ParallelForOp made = NewLoop(lowers, uppers);
    llvm::SmallVector<Value> indices(made.getBody().getArguments());
    const Value number = indices[at];
    indices[at] = b_.create<arith::SelectOp>(
        loc,
        b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, number, Number(edges[at].width)),
        b_.create<arith::AddIOp>(loc, edges[at].lower, number),
        b_.create<arith::AddIOp>(loc, Minus(edges[at].upper, count), number));
    for (const Addition& addition : group.additions) {
      AddAtEdge(addition, edges, indices);
    }
    EndLoop(made);
  }

  // The addition in the iteration of `indices`, if Gather has not made it.
  void AddAtEdge(const Addition& addition, llvm::ArrayRef<Edge> edges,
                 llvm::ArrayRef<Value> indices) {
    const mlir::Location loc = loop_.getLoc();
    llvm::SmallVector<Value> cells(addition.axes.size());
    mlir::IRMapping at;
    Value is_gathered;
    for (auto [a, axis] : llvm::enumerate(addition.axes)) {
      if (axis.index < 0) continue;
      const Edge& edge = edges[axis.index];
      cells[a] = Plus(indices[axis.index], axis.offset);
      at.map(addition.indices[axis.index].value,
             As(addition.indices[axis.index].value.getType(), indices[axis.index]));
      const Value bounds[] = {b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, cells[a],
                                                       Plus(edge.lower, edge.most)),
                              b_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, cells[a],
                                                       Plus(edge.upper, edge.least))};
      for (Value within : bounds) {
        is_gathered = And(is_gathered, within);
      }
    }
    auto branch = b_.create<ir::IfOp>(loc, mlir::TypeRange(), is_gathered);
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().emplaceBlock());
    b_.create<ir::YieldOp>(loc);
    b_.setInsertionPointToStart(&branch.getElseRegion().emplaceBlock());
    const Sum sum = SumOf(addition, at);
    If(sum.happens, [&] {
      b_.create<ir::AtomicOp>(loc, sum.value.getType(), ir::AtomicKind::addf, sum.value,
                              AddressAt(addition, cells));
    });
    b_.create<ir::YieldOp>(loc);
  }

  ir::KernelOp kernel_;
  ir::ParallelForOp loop_;
  mlir::OpBuilder b_;
  llvm::DenseMap<mlir::Operation*, bool> stable_;
};

struct GatherPass : mlir::PassWrapper<GatherPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GatherPass)
  llvm::StringRef getArgument() const override { return "gather"; }
  void runOnOperation() override {
    llvm::SmallVector<ir::ParallelForOp> loops;
    getOperation().walk([&](ir::ParallelForOp loop) { loops.push_back(loop); });
    for (ir::ParallelForOp loop : loops) Gathering(getOperation(), loop).Run();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateGatherPass() { return std::make_unique<GatherPass>(); }

}  // namespace kiln
