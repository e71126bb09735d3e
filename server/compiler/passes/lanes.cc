// Chooses the tasks that run in lanes: several neighbouring iterations at once, in vectors
// (codegen/lane_emitter.h).
//
//   kiln.task.range_for "k" body (%i : i32) {
//     %n = kiln.loop carry (%z = %0 : f32) { … kiln.if %varies { … } else { kiln.break … } … }
//     …
//   } attributes {lanes}
//
// LLVM vectorises bodies without loops by itself, as well as inner loops along consecutive memory.
// Lanes are for what it leaves scalar: bodies with loops around strided accesses or of divergent
// trip counts, and atomics in branches beside much arithmetic. A cost model compares both forms.
//
// A task stays scalar whatever its cost if an op has no form in lanes: calls of functions, reports
// and checks, whose order or first failure would change, cells of trees, f16. So does a task for
// one thread, whose iterations may depend on each other.
//
// Requires: offloaded level; after all passes that change bodies.
#include <algorithm>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/lane_shapes.h"
#include "server/compiler/dialect/long_loops.h"
#include "server/compiler/dialect/math_calls.h"
#include "server/compiler/passes/passes.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Value;

// --- Which tasks can -------------------------------------------------------------------

bool IsScalar(mlir::Type type) { return type.isF32() || type.isF64() || type.isInteger(); }

// Whether LLVM vectorises a loop that makes `next` of a value that it carries.
bool IsReduction(Value carried, Value next) {
  mlir::Operation* op = next.getDefiningOp();
  if (op == nullptr) return next == carried;
  for (mlir::Operation* user : carried.getUsers()) {
    if (!op->isAncestor(user)) return false;
  }
  if (llvm::isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::MinNumFOp, arith::MaxNumFOp>(
          op)) {
    const auto flags = llvm::cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
    return flags && bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::reassoc);
  }
  return llvm::isa<ir::IfOp, arith::SelectOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
                   arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp,
                   arith::MinUIOp, arith::MaxUIOp>(op);
}

class Task {
 public:
  explicit Task(ir::RangeTaskOp task)
      : task_(task), kernel_(task->getParentOfType<ir::KernelOp>()), shapes_(task) {}

  bool IsPossible();
  // Whether lanes are clearly faster.
  bool Pays();

 private:
  // Cycles of one iteration in scalar code, and of as many as there are lanes in vectors.
  struct Cost {
    double scalar = 0, vector = 0;
    void Add(Cost other) {
      scalar += other.scalar;
      vector += other.vector;
    }
  };

  bool HasForm(mlir::Operation* op);
  bool HasForm(ir::ComponentOp op);
  template <typename Op>
  bool HasCell(Op op);
  bool LlvmVectorises(mlir::Operation* loop);
  bool NeedsLanes();
  Cost CostOf(mlir::Region& region);
  Cost CostOf(mlir::Operation& op);
  Cost MemoryCost(Value address, mlir::Type type, bool store);
  Cost ArithmeticCost(mlir::Operation& op);
  bool Varies(Value value) const { return shapes_.Varies(value); }

  ir::RangeTaskOp task_;
  ir::KernelOp kernel_;
  LaneShapes shapes_;
};

template <typename Op>
bool Task::HasCell(Op op) {
  auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel_.getStorages()[op.getStorage()]);
  if (!dense) return llvm::isa<ir::NdarrayAttr>(kernel_.getStorages()[op.getStorage()]);
  for (int axis = 0; axis < dense.getAxes(); ++axis) {
    // Digits of an index that varies would be divisions of vectors.
    if (Varies(op.getIndices()[axis]) && DigitsOf(dense, axis) > 1) return false;
  }
  return true;
}

// Lanes look up one component in the tables.
bool Task::HasForm(ir::ComponentOp op) { return !Varies(op.getIndex()) && HasCell(op); }

bool Task::HasForm(mlir::Operation* op) {
  for (mlir::Type type : op->getResultTypes()) {
    if (auto address = llvm::dyn_cast<ir::AddrType>(type)) type = address.getPointee();
    if (!IsScalar(type)) return false;
  }
  if (!llvm::isa<ir::KilnDialect>(op->getDialect())) return op->getNumResults() == 1;
  return llvm::TypeSwitch<mlir::Operation*, bool>(op)
      .Case<ir::IfOp, ir::ForOp, ir::LoopOp, ir::YieldOp, ir::ContinueOp, ir::BreakOp, ir::LocalOp,
            ir::LocalArrayOp, ir::TemporaryOp, ir::ElementOp, ir::LoadOp, ir::StoreOp, ir::AtomicOp,
            ir::RandomOp, ir::ExtentOp, ir::OuterExtentOp>([](auto) { return true; })
      .Case([&](ir::GlobalOp o) { return HasCell(o); })
      .Case([&](ir::ComponentOp o) { return HasForm(o); })
      .Case([&](ir::ZeroOp o) {
        return llvm::isa_and_nonnull<ir::LocalOp, ir::LocalArrayOp>(o.getAddress().getDefiningOp());
      })
      .Case([&](ir::ArgumentOp o) { return !o.getIndex() || !Varies(o.getIndex()); })
      .Default([](mlir::Operation*) { return false; });
}

bool Task::IsPossible() {
  for (size_t i = 0; i < task_.getInits().size(); ++i) {
    if (!KindOfAccumulator(task_, i)) return false;
  }
  return !task_.getBody()
              .walk([&](mlir::Operation* op) {
                return HasForm(op) ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

// --- Which tasks gain ------------------------------------------------------------------

// The lanes that the model assumes, of 4 bytes each. It is meant to be right within a third.
constexpr double kLanes = 8;
// So much faster lanes must be by the model.
constexpr double kLeastGain = 1.5;

constexpr double kLoad = 1.5, kStore = 2, kLibrary = 20, kDivision = 5, kLongDivision = 12;
constexpr double kAtomic = 15, kRandom = 8;
// Of each lane: one load and its place in the vector; a store; an element that leaves the vector
// and comes back.
constexpr double kGather = 2.5, kScatter = 4, kScalarised = 3;
constexpr double kUnknownTrips = 16;
// Lanes wait for the one that stays in a loop for longest.
constexpr double kDivergence = 1.3;
// What LLVM gains where it vectorises an inner loop.
constexpr double kInnerGain = 6;
// Loops of so many operations in all are unrolled by LLVM, which then vectorises what is around. It
// counts a call as ten.
constexpr double kUnrolled = 128, kOperationsOfCall = 10;

// What LLVM's unroller takes for the size of a loop's body, whose inner loops are unrolled first.
double SizeForUnrolling(mlir::Region& body) {
  double size = 0;
  for (mlir::Operation& op : body.front()) {
    const double times = llvm::isa<ir::ForOp>(op) ? Trips(op).value_or(kUnrolled) : 1;
    size += IsLibraryCall(op) ? kOperationsOfCall : 1;
    for (mlir::Region& region : op.getRegions()) {
      if (!region.empty()) size += times * SizeForUnrolling(region);
    }
  }
  return size;
}

// Whether LLVM vectorises an innermost loop: along consecutive or invariant memory, without
// branches that touch memory or leave the loop.
bool Task::LlvmVectorises(mlir::Operation* op) {
  auto loop = llvm::dyn_cast<ir::ForOp>(op);
  if (!loop) return false;
  const LaneShapes shapes(loop);
  const auto prevents = [&](mlir::Operation* inner) {
    if (llvm::isa<ir::ForOp, ir::LoopOp, ir::BreakOp, ir::AtomicOp>(inner)) {
      return true;
    }
    Value address;
    if (auto load = llvm::dyn_cast<ir::LoadOp>(inner)) address = load.getAddress();
    if (auto store = llvm::dyn_cast<ir::StoreOp>(inner)) address = store.getAddress();
    if (!address) return false;
    const int64_t size =
        (llvm::cast<ir::AddrType>(address.getType()).getPointee().getIntOrFloatBitWidth() + 7) / 8;
    const std::optional<int64_t> stride = ByteStride(address, shapes, kernel_);
    return !stride || (*stride != 0 && *stride != size);
  };
  auto end = llvm::dyn_cast<ir::ContinueOp>(loop.getBody().front().getTerminator());
  if (!end) return false;
  for (auto [carried, next] : llvm::zip(loop.getCarried(), end.getValues())) {
    if (!IsReduction(carried, next)) return false;
  }
  return !loop.getBody()
              .walk([&](mlir::Operation* inner) {
                return prevents(inner) ? mlir::WalkResult::interrupt()
                                       : mlir::WalkResult::advance();
              })
              .wasInterrupted();
}

Task::Cost Task::MemoryCost(Value address, mlir::Type type, bool store) {
  const int64_t bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
  const double one = store ? kStore : kLoad;
  const std::optional<int64_t> stride = ByteStride(address, shapes_, kernel_);
  if (stride == 0) return {one, store ? kLanes * one : one};
  const bool local = !llvm::isa_and_nonnull<ir::GlobalOp, ir::ComponentOp>(address.getDefiningOp());
  if (local) {
    auto element = address.getDefiningOp<ir::ElementOp>();
    const bool varies = element && Varies(element.getIndex());
    return {one, varies ? kLanes * (store ? kScatter : kGather) : one};
  }
  // Bytes and halves have masks only in AVX-512: a branch and two forms.
  if (stride && *stride == bytes) {
    const double vectors = static_cast<double>(bytes) / 4;
    return {one, bytes < 4 ? one + 6 : one * vectors};
  }
  return {one, kLanes * (store ? kScatter : kGather)};
}

Task::Cost Task::ArithmeticCost(mlir::Operation& op) {
  if (op.getNumResults() == 0 || llvm::isa<arith::ConstantOp>(op)) return {};
  const mlir::Type type = op.getResult(0).getType();
  // Vectors of wide elements are several.
  const double wide = type.isIntOrFloat() ? std::max(1.0, type.getIntOrFloatBitWidth() / 32.0) : 1;
  double cost = 1;
  bool scalarised = false;
  if (llvm::isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op)) {
    cost = kDivision;
  } else if (llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    const bool constant = op.getOperand(1).getDefiningOp<arith::ConstantOp>() != nullptr;
    cost = constant ? 4 : kLongDivision;
    scalarised = !constant;
  } else if (IsLibraryCall(op)) {
    cost = kLibrary;
    // These have no functions of vectors.
    const bool is_scalar = llvm::isa<arith::RemFOp, math::IPowIOp, math::FPowIOp>(op);
    scalarised = is_scalar || !kernel_.getFastMath();
  } else if (llvm::isa<math::MathDialect>(op.getDialect())) {
    cost = 2;
  } else if (llvm::isa<arith::MulIOp>(op) && wide > 1) {
    cost = 2;
  }
  if (!Varies(op.getResult(0))) return {cost, cost};
  return {cost, scalarised ? kLanes * (cost + kScalarised) : cost * wide};
}

Task::Cost Task::CostOf(mlir::Operation& op) {
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
    return MemoryCost(load.getAddress(), load.getType(), false);
  }
  if (auto store = llvm::dyn_cast<ir::StoreOp>(op)) {
    return MemoryCost(store.getAddress(), store.getValue().getType(), true);
  }
  if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) {
    const bool one = !Varies(atomic.getAddress()) && atomic.getOld().use_empty();
    return {kAtomic, one ? kAtomic + 8 : kLanes * (kAtomic + kScalarised)};
  }
  // 64-bit products are several instructions below AVX-512.
  if (llvm::isa<ir::RandomOp>(op)) return {kRandom, 4 * kRandom};
  // Part of the access.
  if (llvm::isa<ir::GlobalOp, ir::ElementOp, ir::ComponentOp, ir::ExtentOp, ir::ArgumentOp,
                ir::LocalOp, ir::LocalArrayOp>(op)) {
    return {};
  }
  if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
    Cost sides = CostOf(branch.getThenRegion());
    sides.Add(CostOf(branch.getElseRegion()));
    const bool diverges = shapes_.Diverges(&op);
    // Scalar code runs one side, lanes often both.
    return {2 + sides.scalar / 2, diverges ? 3 + sides.vector : 2 + sides.vector / 2};
  }
  if (!llvm::isa<ir::ForOp, ir::LoopOp>(op)) return ArithmeticCost(op);
  Cost loop = CostOf(op.getRegion(0));
  const double trips = Trips(op).value_or(kUnknownTrips);
  // A branch, the count and, of vectors, the mask.
  loop.Add({2, shapes_.Diverges(&op) ? 4.0 : 2.0});
  if (LlvmVectorises(&op)) loop.scalar /= kInnerGain;
  if (shapes_.Diverges(&op)) loop.vector *= kDivergence;
  return {loop.scalar * trips, loop.vector * trips};
}

Task::Cost Task::CostOf(mlir::Region& region) {
  Cost sum;
  for (mlir::Operation& op : region.front()) sum.Add(CostOf(op));
  return sum;
}

// Whether LLVM leaves the body scalar.
bool Task::NeedsLanes() {
  return task_.getBody()
      .walk([&](mlir::Operation* op) {
        bool needs = llvm::isa<ir::LoopOp>(op);
        if (llvm::isa<ir::ForOp>(op)) {
          const std::optional<double> trips = Trips(*op);
          needs = !trips || *trips * SizeForUnrolling(op->getRegion(0)) > kUnrolled;
        }
        if (llvm::isa<ir::AtomicOp>(op)) needs = op->getParentOp() != task_.getOperation();
        return needs ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

bool Task::Pays() {
  if (!NeedsLanes()) return false;
  const Cost cost = CostOf(task_.getBody());
  return kLanes * cost.scalar > kLeastGain * cost.vector;
}

class Lanes : public mlir::PassWrapper<Lanes, mlir::OperationPass<ir::KernelOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Lanes)

  void runOnOperation() override {
    const auto wish = getOperation()->getAttrOfType<mlir::IntegerAttr>(kLanesAttribute);
    const LanesWish when = wish ? static_cast<LanesWish>(wish.getInt()) : LanesWish::kWhereTheyPay;
    if (when == LanesWish::kNever) return;
    for (auto op : getOperation().getBody().getOps<ir::RangeTaskOp>()) {
      if (op.isSparse() || op.getNumDims() == 0 || op.getMaxThreads() == 1) continue;
      Task task(op);
      if (!task.IsPossible()) continue;
      op.setLanes(when == LanesWish::kWherePossible || task.Pays());
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateLanesPass() { return std::make_unique<Lanes>(); }

}  // namespace kiln
