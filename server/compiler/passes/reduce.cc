// Reduction recognition (privatisation): atomics on one cell become a partial result for each piece
// of the loop, and one atomic for each piece.
//
//   kiln.task.range_for body (%i : i32) {       body (%i : i32, %sum : f32) {
//     %v = ...                                    %v = ...
//     kiln.atomic addf %v, %total          ->     %next = arith.addf %sum, %v
//     kiln.continue                               kiln.continue %next : f32
//   }                                           } finish (%sum = 0.0 : f32) {
//                                                 kiln.atomic addf %sum, %total
//                                                 kiln.yield
//                                               }
//
// This is done for atomics whose old value is unused, on an address that all iterations share (made
// of constants, arguments, and temporaries that the task does not write), and that the task
// accesses in no other way.
//
// A second accumulator notes whether any iteration reached its atomic, where that matters: if none
// did, the piece must not activate the cell of a tree, and a guard may keep the program from a cell
// that does not exist.
//
// Atomics add floats in any order, so accumulation may be reassociated even without fast_math; it
// then vectorises. After this pass the order is fixed: pieces, and the order of their atomics,
// follow from the loop's bounds, so that results repeat. f16 is accumulated as f32.
//
// The greatest of square roots (the greatest speed, say) is the root of the greatest square, which
// is one root for each piece instead of one for each iteration.
//
// Requires: offloaded level; promote-locals must follow, because accumulators are locals until
// then. Guarantees: no atomic on the address is left in the body.
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

using ir::AtomicKind;

class Reduction {
 public:
  Reduction(ir::RangeTaskOp task, const FunctionFacts& functions)
      : task_(task),
        kernel_(task->getParentOfType<ir::KernelOp>()),
        builder_(task.getContext()),
        functions_(functions) {}

  void Run() {
    task_.getBody().walk([&](mlir::Operation* op) {
      const Effects effects = functions_.EffectsOf(op);
      calls_touch_memory_ |= effects.Has(kTouchesMemory);
      asks_snodes_ |= effects.Has(kActivates | kDeactivates | kQueries);
      for (mlir::Value address : effects.writes) accesses_.push_back({op, address, true});
      for (mlir::Value address : effects.reads) {
        if (!llvm::is_contained(effects.writes, address)) accesses_.push_back({op, address, false});
      }
    });
    task_.getBody().walk([&](ir::AtomicOp atomic) { Collect(atomic); });
    for (Group& group : groups_) {
      if (IsAlone(group)) Reduce(group);
    }
  }

 private:
  struct Access {
    mlir::Operation* op;
    mlir::Value address;
    bool writes;
  };
  // Atomics of one reduction.
  struct Group {
    AtomicKind kind;
    mlir::Value address;
    llvm::SmallVector<ir::AtomicOp> atomics;
  };

  void Collect(ir::AtomicOp atomic) {
    if (!atomic.getOld().use_empty() || !IsInvariant(atomic.getAddress())) return;
    // The iteration may ask whether the cell is active, which its own atomic decides.
    if (asks_snodes_ && GlobalInTree(atomic.getAddress())) return;
    const AtomicKind kind = KindOfPartials(atomic.getKind());
    for (Group& group : groups_) {
      if (group.kind != kind || !SameValue(group.address, atomic.getAddress())) continue;
      group.atomics.push_back(atomic);
      return;
    }
    // Each group takes a register. Float sums are worth more: only reduced ones are the same in
    // every run.
    const bool is_float = llvm::isa<mlir::FloatType>(atomic.getValue().getType());
    if (groups_.size() < (is_float ? kMostFloatGroups : kMostGroups)) {
      groups_.push_back({kind, atomic.getAddress(), {atomic}});
    }
  }

  // Made, in every iteration, of the same constants, arguments and temporaries.
  bool IsInvariant(mlir::Value value) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return false;
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      if (!load.getAddress().getDefiningOp<ir::TemporaryOp>()) return false;
      return llvm::none_of(accesses_, [&](const Access& access) {
        return access.writes && MayAlias(access.address, load.getAddress());
      });
    }
    return mlir::isPure(op) && llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
             return IsInvariant(operand);
           });
  }

  // Whether two values are the same computation, op by op.
  bool SameValue(mlir::Value a, mlir::Value b) {
    if (a == b) return true;
    mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    if (!x || !y || x->getName() != y->getName() || x->getAttrs() != y->getAttrs() ||
        a.getType() != b.getType() || x->getNumOperands() != y->getNumOperands()) {
      return false;
    }
    return llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                        [&](auto pair) { return SameValue(std::get<0>(pair), std::get<1>(pair)); });
  }

  bool IsAlone(const Group& group) {
    // A function can reach a temporary only through an address that the call passes.
    if (calls_touch_memory_ && !group.address.getDefiningOp<ir::TemporaryOp>()) return false;
    return llvm::all_of(accesses_, [&](const Access& access) {
      return llvm::is_contained(group.atomics, access.op) ||
             !MayAlias(access.address, group.address);
    });
  }

  void Reduce(Group& group) {
    mlir::Location loc = group.atomics.front().getLoc();
    mlir::Type type = group.atomics.front().getValue().getType();
    mlir::Type wide = type.isF16() ? builder_.getF32Type() : type;
    mlir::TypedAttr identity = IdentityOf(group.kind, wide);
    const bool of_roots = IsMaximumOfRoots(group);

    Accumulator sum = NewAccumulator(loc, identity);
    Accumulator any;
    if (GlobalInTree(group.address) || MayNotExist(group)) {
      any = NewAccumulator(loc, builder_.getBoolAttr(false));
    }

    // The finish, which runs once for each piece.
    builder_.setInsertionPoint(task_.getFinish().front().getTerminator());
    if (any.local) {
      auto branch = builder_.create<ir::IfOp>(loc, mlir::TypeRange(), any.total);
      mlir::OpBuilder(builder_)
          .atBlockEnd(&branch.getElseRegion().emplaceBlock())
          .create<ir::YieldOp>(loc);
      builder_.setInsertionPointToStart(&branch.getThenRegion().emplaceBlock());
      builder_.setInsertionPoint(builder_.create<ir::YieldOp>(loc));
    }
    mlir::IRMapping mapping;
    mlir::Value address = CloneValue(group.address, &mapping);
    mlir::Value total = sum.total;
    if (of_roots) {
      total =
          builder_.create<mlir::math::SqrtOp>(loc, total, ir::FloatFlags(kernel_.getFastMath()));
    }
    if (wide != type) total = builder_.create<mlir::arith::TruncFOp>(loc, type, total);
    builder_.create<ir::AtomicOp>(loc, type, group.kind, total, address);

    for (ir::AtomicOp atomic : group.atomics) {
      builder_.setInsertionPoint(atomic);
      mlir::Value old = builder_.create<ir::LoadOp>(loc, wide, sum.local);
      mlir::Value value = atomic.getValue();
      if (of_roots) value = value.getDefiningOp<mlir::math::SqrtOp>().getOperand();
      if (wide != type) value = builder_.create<mlir::arith::ExtFOp>(loc, wide, value);
      builder_.create<ir::StoreOp>(loc, Accumulate(atomic, old, value, identity), sum.local);
      if (any.local) {
        mlir::Value yes = builder_.create<mlir::arith::ConstantOp>(loc, builder_.getBoolAttr(true));
        builder_.create<ir::StoreOp>(loc, yes, any.local);
      }
      llvm::erase_if(accesses_, [&](const Access& access) { return access.op == atomic; });
      atomic.erase();
    }
  }

  // Whether the cell is one that data chooses, or of an array, which may be short, and iterations
  // may pass by all of its atomics.
  bool MayNotExist(const Group& group) {
    mlir::Operation* address = group.address.getDefiningOp();
    auto global = llvm::dyn_cast<ir::GlobalOp>(address);
    const bool of_array =
        global && llvm::isa<ir::NdarrayAttr>(kernel_.getStorages()[global.getStorage()]);
    const auto is_constant = [](mlir::Value v) { return ConstantOf(v).has_value(); };
    if (!of_array && llvm::all_of(address->getOperands(), is_constant)) return false;
    mlir::Block& body = task_.getBody().front();
    int ends = 0;
    ForEachContinue(body, [&](ir::ContinueOp /*end*/) { ++ends; });
    return ends > 1 || llvm::none_of(group.atomics, [&](ir::AtomicOp atomic) {
             return atomic->getBlock() == &body;
           });
  }

  // Whether the maximum of the roots is the root of the maximum, to the last bit. Rounding keeps
  // the order of roots. Those of negative numbers are NaNs, which maxima ignore: the root of the
  // greatest number is a NaN only if all of them are. That is not so for minima.
  static bool IsMaximumOfRoots(const Group& group) {
    return group.kind == AtomicKind::maxf && llvm::all_of(group.atomics, [](ir::AtomicOp atomic) {
             mlir::Value value = atomic.getValue();
             return value.getDefiningOp<mlir::math::SqrtOp>() && value.hasOneUse() &&
                    !value.getType().isF16();
           });
  }

  // Minima and maxima ignore NaNs. Replacing a NaN by the identity first allows nnan, without which
  // LLVM does not vectorise the loop.
  mlir::Value Accumulate(ir::AtomicOp atomic, mlir::Value old, mlir::Value value,
                         mlir::TypedAttr identity) {
    using mlir::arith::FastMathFlags;
    mlir::Location loc = atomic.getLoc();
    FastMathFlags flags = ir::FloatFlags(kernel_.getFastMath()) | FastMathFlags::reassoc;
    if (atomic.getKind() == AtomicKind::minf || atomic.getKind() == AtomicKind::maxf) {
      flags = flags | FastMathFlags::nnan | FastMathFlags::nsz;
      mlir::Value nan =
          builder_.create<mlir::arith::CmpFOp>(loc, mlir::arith::CmpFPredicate::UNO, value, value);
      mlir::Value nothing = builder_.create<mlir::arith::ConstantOp>(loc, identity);
      value = builder_.create<mlir::arith::SelectOp>(loc, nan, nothing, value);
    }
    return Combine(builder_, loc, atomic.getKind(), old, value, flags);
  }

  // `local` holds the accumulator during an iteration; `total` is its final value, in the finish.
  struct Accumulator {
    mlir::Value local, total;
  };
  Accumulator NewAccumulator(mlir::Location loc, mlir::TypedAttr init) {
    llvm::SmallVector<mlir::Attribute> inits(task_.getInits().getValue());
    inits.push_back(init);
    task_.setInitsAttr(builder_.getArrayAttr(inits));
    mlir::Type type = init.getType();
    mlir::Block& body = task_.getBody().front();
    mlir::Value carried = body.addArgument(type, loc);
    builder_.setInsertionPointToStart(&body);
    mlir::Value local =
        builder_.create<ir::LocalOp>(loc, ir::AddrType::get(type.getContext(), type));
    builder_.create<ir::StoreOp>(loc, carried, local);
    ForEachContinue(body, [&](ir::ContinueOp end) {
      builder_.setInsertionPoint(end);
      mlir::Value value = builder_.create<ir::LoadOp>(loc, type, local);
      end->insertOperands(end->getNumOperands(), value);
    });
    return {local, task_.getFinish().front().addArgument(type, loc)};
  }

  mlir::Value CloneValue(mlir::Value value, mlir::IRMapping* mapping) {
    if (mlir::Value known = mapping->lookupOrNull(value)) return known;
    for (mlir::Value operand : value.getDefiningOp()->getOperands()) CloneValue(operand, mapping);
    return builder_.clone(*value.getDefiningOp(), *mapping)->getResult(0);
  }

  // The continues that end the task's iteration: in the body and in ifs, not in inner loops.
  void ForEachContinue(mlir::Block& block, llvm::function_ref<void(ir::ContinueOp)> visit) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
      if (auto end = llvm::dyn_cast<ir::ContinueOp>(op)) visit(end);
      if (!llvm::isa<ir::IfOp>(op)) continue;
      for (mlir::Region& region : op.getRegions()) ForEachContinue(region.front(), visit);
    }
  }

  static constexpr size_t kMostGroups = 16, kMostFloatGroups = 1024;
  ir::RangeTaskOp task_;
  ir::KernelOp kernel_;
  mlir::OpBuilder builder_;
  const FunctionFacts& functions_;
  bool asks_snodes_ = false;
  bool calls_touch_memory_ = false;
  std::vector<Access> accesses_;
  std::vector<Group> groups_;
};

struct ReducePass : mlir::PassWrapper<ReducePass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReducePass)
  llvm::StringRef getArgument() const override { return "reduce"; }
  void runOnOperation() override {
    const FunctionFacts functions(getOperation());
    for (auto task : getOperation().getBodyRegion().getOps<ir::RangeTaskOp>()) {
      Reduction(task, functions).Run();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateReducePass() { return std::make_unique<ReducePass>(); }

}  // namespace kiln
