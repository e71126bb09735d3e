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
// and checks, whose order or first failure would change, f16, and cells of trees, except reading
// one cell for all lanes. So does a task for one thread, whose iterations may depend on each other.
//
// Requires: offloaded level; after all passes that change bodies.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/dialect/lane_shapes.h"
#include "server/compiler/dialect/long_loops.h"
#include "server/compiler/dialect/math_calls.h"
#include "server/compiler/passes/kept_loads.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"
#include "server/compiler/passes/unrolling.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Value;

// --- Which tasks can -------------------------------------------------------------------

bool IsScalar(mlir::Type type) { return type.isF32() || type.isF64() || type.isInteger(); }

// Whether an op adds something to a value, or combines them so, in any order.
bool Accumulates(mlir::Operation* op) {
  if (llvm::isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::MinNumFOp, arith::MaxNumFOp>(
          op)) {
    const auto flags = llvm::cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
    return flags && bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::reassoc);
  }
  return llvm::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp,
                   arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
      op);
}

// Whether LLVM vectorises a loop that makes `next` of a value that it carries.
bool IsReduction(Value carried, Value next) {
  if (next == carried) return true;
  mlir::Operation* op = next.getDefiningOp();
  // Sums that the loop itself uses are needed one after the other.
  if (op == nullptr || !next.hasOneUse()) return false;
  for (mlir::Operation* user : carried.getUsers()) {
    if (!op->isAncestor(user)) return false;
  }
  if (Accumulates(op) || llvm::isa<arith::SelectOp>(op)) return true;
  auto branch = llvm::dyn_cast<ir::IfOp>(op);
  if (!branch) return false;
  const unsigned result = llvm::cast<mlir::OpResult>(next).getResultNumber();
  const auto accumulates = [&](mlir::Block& side) {
    auto yield = llvm::dyn_cast<ir::YieldOp>(side.getTerminator());
    if (!yield) return false;
    const Value value = yield.getValues()[result];
    mlir::Operation* from = value.getDefiningOp();
    return value == carried || (from != nullptr && Accumulates(from) &&
                                llvm::is_contained(from->getOperands(), carried));
  };
  return accumulates(branch.getThenBlock()) && accumulates(branch.getElseBlock());
}

bool OnlyReduces(ir::ForOp loop) {
  auto end = llvm::dyn_cast<ir::ContinueOp>(loop.getBody().front().getTerminator());
  return end && llvm::all_of(llvm::zip(loop.getCarried(), end.getValues()), [](auto pair) {
           return IsReduction(std::get<0>(pair), std::get<1>(pair));
         });
}

// What costs differ by the level of x86-64. Measured on a Zen 5.
struct Costs {
  double gather, scatter;  // of each lane, under a mask
  double bytes;            // a mask for elements of one or two bytes
  double product;          // of vectors of 64-bit integers
  double conversion;       // between f64 and 64-bit integers
  double wide;             // vectors of 64-bit elements for the lanes of one of 32-bit elements
};

class Task {
 public:
  Task(ir::RangeTaskOp task, const Costs& costs)
      : task_(task),
        kernel_(task->getParentOfType<ir::KernelOp>()),
        shapes_(task),
        kept_(FindKeptLoads(task, shapes_)),
        costs_(costs),
        is_masked_(!HasWholeVectors(task)) {}

  bool IsPossible();
  // Whether lanes are clearly faster.
  bool Pays();
  // Makes the task run in lanes.
  void Choose();

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
  bool HasForm(ir::GlobalOp op);
  bool HasForm(ir::ComponentOp op);
  template <typename Op>
  bool HasCell(Op op);
  bool GathersIn(const LaneShapes& loop, mlir::Operation& op);
  bool LlvmVectorises(mlir::Operation* loop);
  double VectorisedByLlvm(ir::ForOp loop, double scalar);
  bool NeedsLanes();
  bool Has(llvm::function_ref<bool(mlir::Operation*)> is_wanted);
  bool Divides();
  bool Gathers();
  bool Scatters();
  bool BranchesAroundStores();
  bool ReadsSharedCell();
  Cost CostOf(mlir::Region& region);
  Cost CostOf(mlir::Operation& op);
  Cost MemoryCost(Value address, mlir::Type type, bool store);
  double LocalAccess(bool store) const;
  double VectorsOf(mlir::Type type) const;
  double AccessOf(const std::optional<int64_t>& stride, bool store) const;
  std::optional<int64_t> RowStride(Value address);
  bool ReadsRow(Value value, int depth = 0);
  double LinesPerSetIn(mlir::Operation* loop);
  Cost ArithmeticCost(mlir::Operation& op);
  Cost LoopCost(mlir::Operation& op);
  double DivergenceOf(mlir::Operation& loop, double iteration);
  bool Varies(Value value) const { return shapes_.Varies(value); }

  ir::RangeTaskOp task_;
  ir::KernelOp kernel_;
  LaneShapes shapes_;
  KeptLoads kept_;
  const Costs& costs_;
  // Of the code that CostOf is at.
  double lines_per_set_ = 0;  // in its loop
  bool is_masked_;            // whether it may run in some lanes only
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

// In trees, lanes look up one cell for all of them, and only read.
bool Task::HasForm(ir::GlobalOp op) {
  if (!kernel_.getTreeField(op.getStorage())) return HasCell(op);
  return !Varies(op) && llvm::all_of(op->getUsers(), [](mlir::Operation* user) {
    return llvm::isa<ir::LoadOp>(user);
  });
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
      .Case<ir::GlobalOp, ir::ComponentOp>([&](auto o) { return HasForm(o); })
      .Case<ir::LengthOp, ir::IsActiveOp>([&](auto o) { return !Varies(o); })
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
constexpr double kLeastGain = 1.4;

constexpr double kLoad = 1, kTreeLoad = 4, kStore = 1, kLibrary = 20, kDivision = 5;
// Of integers, by a divisor that is not constant.
constexpr double kLongDivision = 12, kVectorDivision = 16;
constexpr double kAtomic = 15, kRandom = 8;
// Of each lane, where all lanes are known to run: one load and its place in the vector, or a store.
// The address of a gathered one is an element of another vector.
constexpr double kStrided = 1.5, kGathered = 2, kStridedStore = 2, kScattered = 2.5;
constexpr double kLocalAccess = 3.5;
// The value is there in all but a few iterations of a loop.
constexpr double kKeptLoad = 1.5;
// An element that leaves the vector and comes back.
constexpr double kScalarised = 3;
// AVX2 has no masks of bytes: a branch and two forms. It multiplies halves, and converts 64-bit
// integers one by one.
constexpr Costs kCostsOfV3 = {2, 4, 6, 10, 24, 2};
constexpr Costs kCostsOfV4 = {1.3, 3.5, 1, 4, 4, 1};
// Rows of a power of two put the cells of all lanes into few sets of the first-level cache, which
// repeat at this distance. Each line of the fullest set that it does not keep makes a load slower;
// each such line of a store's own rows makes the store slower. Measured on a Zen 5, with one to
// three arrays of rows of 1, 2 and 4 KiB.
constexpr int64_t kSetsRepeat = 4096, kLine = 64;
constexpr double kLinesLoaded = 3, kCrowdedLoad = 0.4, kMostCrowded = 6;
constexpr double kLinesStored = 1, kCrowdedStore = 3;
// Processors run a few operations a cycle, but wait for each of a chain.
constexpr double kWaiting = 2;
constexpr double kFloatLatency = 4 * kWaiting, kProductLatency = 3 * kWaiting;
constexpr double kLoadLatency = 5 * kWaiting;
// Each run of a loop that iterations leave at different times ends with a branch that the processor
// guesses wrong.
constexpr double kMispredicted = 15;
constexpr double kUnknownTrips = 16;
// Lanes wait for the one that stays in a loop for longest. What ends a `while` loop varies more
// than bounds do; in many lanes there may be no iteration at all. That holds still more where it is
// read from memory.
constexpr double kDivergence = 1.3, kWhileDivergence = 1.6, kDataDivergence = 2.6;
// Scalar code that searches a row, in iterations of few cycles, reads on while its branch is
// guessed right. Lanes wait for each gather, and for the longest of many searches.
constexpr double kSearchDivergence = 12, kSearch = 12;
// Most numbers have a small divisor, and few have none.
constexpr double kDivisorDivergence = 20;
// Ops between an index and what it is made of, and the most that they add.
constexpr int kIndexDepth = 4;
constexpr int64_t kMostOffset = int64_t{1} << 31;

// A value and how much an index exceeds it.
struct Offset {
  Value from;
  int64_t by = 0;
};

Offset OffsetOf(Value index) {
  Offset offset = {index, 0};
  for (int depth = 0; depth < kIndexDepth; ++depth) {
    mlir::Operation* op = offset.from.getDefiningOp();
    if (!llvm::isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) break;
    const std::optional<int64_t> by = ConstantOf(op->getOperand(1));
    if (!by || std::abs(*by) > kMostOffset) break;
    offset = {op->getOperand(0), offset.by + (llvm::isa<arith::AddIOp>(op) ? *by : -*by)};
  }
  return offset;
}

// How often a loop may run at most, where that is known. A window around an index that stays within
// a field, `range(max(i - 3, 0), min(i + 4, n))`, runs 7 times.
std::optional<double> MostTrips(mlir::Operation& op) {
  if (const std::optional<double> trips = Trips(op)) return trips;
  auto loop = llvm::dyn_cast<ir::ForOp>(op);
  if (!loop) return {};
  const auto sides = [](Value bound, bool clamps) {
    if (!clamps) return llvm::SmallVector<Offset, 2>{OffsetOf(bound)};
    mlir::Operation* clamp = bound.getDefiningOp();
    return llvm::SmallVector<Offset, 2>{OffsetOf(clamp->getOperand(0)),
                                        OffsetOf(clamp->getOperand(1))};
  };
  const Value lower = loop.getLower(), upper = loop.getUpper();
  std::optional<double> least;
  for (const Offset& first : sides(lower, lower.getDefiningOp<arith::MaxSIOp>() != nullptr)) {
    for (const Offset& end : sides(upper, upper.getDefiningOp<arith::MinSIOp>() != nullptr)) {
      if (first.from != end.from) continue;
      const double trips = std::max<double>(0, static_cast<double>(end.by - first.by));
      least = std::min(least.value_or(trips), trips);
    }
  }
  return least;
}

// A component of a storage.
using Component = std::pair<uint64_t, uint64_t>;

Component ComponentOf(ir::GlobalOp op) { return {op.getStorage(), op.getComponent()}; }

// How many iterations of a loop after a store to `stored` a load from `loaded`, of the same
// component, reads the cell; 0 if it never does, or if that is not known.
int64_t DistanceOf(ir::GlobalOp loaded, ir::GlobalOp stored, const LaneShapes& shapes) {
  int64_t distance = 0;
  for (auto [a, b] : llvm::zip(loaded.getIndices(), stored.getIndices())) {
    const Offset from = OffsetOf(a), to = OffsetOf(b);
    if (from.from != to.from) return 0;
    if (from.by == to.by) continue;
    const std::optional<int64_t> stride = shapes.StrideOf(from.from);
    const int64_t by = to.by - from.by;
    if (distance != 0 || !stride || *stride == 0 || by % *stride != 0) return 0;
    distance = by / *stride;
  }
  return distance;
}

// The loads of a loop that read what the iteration before has stored, and those stores.
struct Recurrences {
  explicit Recurrences(mlir::Region& body, const LaneShapes& shapes) {
    // Of large loops not all: each load is compared with each store to its component.
    constexpr size_t kMostStores = 16, kMostFound = 64;
    llvm::SmallDenseMap<Component, llvm::SmallVector<ir::StoreOp, 2>> stores_to;
    body.walk([&](ir::StoreOp store) {
      auto to = store.getAddress().getDefiningOp<ir::GlobalOp>();
      if (!to) return;
      auto& known = stores_to[ComponentOf(to)];
      if (known.size() < kMostStores) known.push_back(store);
    });
    body.walk([&](ir::LoadOp load) {
      auto from = load.getAddress().getDefiningOp<ir::GlobalOp>();
      const auto found = from ? stores_to.find(ComponentOf(from)) : stores_to.end();
      if (found == stores_to.end()) return;
      for (ir::StoreOp store : found->second) {
        auto to = store.getAddress().getDefiningOp<ir::GlobalOp>();
        if (loads.size() == kMostFound || DistanceOf(from, to, shapes) != 1) continue;
        loads.push_back(load);
        stores.push_back(store);
      }
    });
  }
  llvm::SmallVector<ir::LoadOp, 2> loads;
  llvm::SmallVector<ir::StoreOp, 2> stores;
};

// Whether an op of an inner loop loads from cells that data says, as those of a list of neighbours.
bool Task::GathersIn(const LaneShapes& loop, mlir::Operation& op) {
  auto load = llvm::dyn_cast<ir::LoadOp>(op);
  auto cell = load ? load.getAddress().getDefiningOp<ir::GlobalOp>() : ir::GlobalOp();
  return cell && !ByteStride(cell, loop, kernel_) &&
         llvm::any_of(cell.getIndices(), [](Value index) {
           return OffsetOf(index).from.getDefiningOp<ir::LoadOp>() != nullptr;
         });
}

// Whether LLVM vectorises an innermost loop: along consecutive or invariant memory, without
// branches that touch memory or leave the loop. It also gathers, outside of branches and beside no
// stores; with calls of functions, lanes are not slower.
bool Task::LlvmVectorises(mlir::Operation* op) {
  auto loop = llvm::dyn_cast<ir::ForOp>(op);
  if (!loop) return false;
  const LaneShapes shapes(loop);
  bool gathers = false, calls_or_stores = false;
  const auto prevents = [&](mlir::Operation* inner) {
    calls_or_stores |= IsLibraryCall(*inner) || llvm::isa<ir::StoreOp>(inner);
    if (llvm::isa<ir::ForOp, ir::LoopOp, ir::BreakOp, ir::AtomicOp>(inner)) return true;
    Value address;
    if (auto load = llvm::dyn_cast<ir::LoadOp>(inner)) address = load.getAddress();
    if (auto store = llvm::dyn_cast<ir::StoreOp>(inner)) address = store.getAddress();
    if (!address) return false;
    const int64_t size =
        (llvm::cast<ir::AddrType>(address.getType()).getPointee().getIntOrFloatBitWidth() + 7) / 8;
    const std::optional<int64_t> stride = ByteStride(address, shapes, kernel_);
    // LLVM has no vectors for what only some iterations read from one cell.
    if (stride == 0) return inner->getParentOp() != op;
    if (!GathersIn(shapes, *inner)) return stride != size;
    gathers = true;
    return inner->getParentOp() != op;
  };
  if (!OnlyReduces(loop) || !Recurrences(loop.getBody(), shapes).loads.empty()) return false;
  const auto walked = loop.getBody().walk([&](mlir::Operation* inner) {
    return prevents(inner) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return !walked.wasInterrupted() && !(gathers && calls_or_stores);
}

// Of integers by a divisor that is not constant.
bool IsDivision(mlir::Operation& op) {
  return llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
         op.getOperand(1).getDefiningOp<arith::ConstantOp>() == nullptr;
}

// Cycles from an op's operands to its result.
double LatencyOf(mlir::Operation& op) {
  if (llvm::isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op)) return 3 * kFloatLatency;
  if (IsDivision(op)) return kLongDivision;
  if (IsLibraryCall(op)) return kLibrary;
  if (llvm::isa<arith::MulIOp>(op)) return kProductLatency;
  if (llvm::isa<ir::LoadOp>(op)) return kLoadLatency;
  return llvm::isa<mlir::FloatType>(op.getResult(0).getType()) && !llvm::isa<arith::SelectOp>(op)
             ? kFloatLatency
             : kWaiting;
}

// How many lines of lanes share a set of the first-level cache, if their rows are so far apart.
double LinesPerSet(int64_t stride) {
  return kLanes * static_cast<double>(std::gcd(stride, kSetsRepeat)) / kSetsRepeat;
}

// ByteStride; of an array along whose rows the code walks, whose length is not known, the worst
// one. At 4 KiB, lanes took 23 times as long as scalar code. Beside that, they seldom gain a factor
// of 2.
std::optional<int64_t> Task::RowStride(Value address) {
  if (const std::optional<int64_t> stride = ByteStride(address, shapes_, kernel_)) return stride;
  auto global = address.getDefiningOp<ir::GlobalOp>();
  if (!global || !llvm::isa<ir::NdarrayAttr>(kernel_.getStorages()[global.getStorage()])) return {};
  const auto is_of_data = [&](Value index) { return !shapes_.StrideOf(index); };
  const bool walks = !global.getIndices().empty() && !ConstantOf(global.getIndices().back());
  if (!walks || llvm::any_of(global.getIndices(), is_of_data)) return {};
  return kSetsRepeat;
}

// Whether a value follows from what the lanes read at the same place of different rows.
bool Task::ReadsRow(Value value, int depth) {
  constexpr int kDepth = 6;
  mlir::Operation* op = value.getDefiningOp();
  if (op == nullptr || depth > kDepth) return false;
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
    return std::abs(RowStride(load.getAddress()).value_or(0)) >= kLine;
  }
  if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
    const unsigned result = llvm::cast<mlir::OpResult>(value).getResultNumber();
    return llvm::any_of(branch->getRegions(), [&](mlir::Region& side) {
      auto yield = llvm::dyn_cast<ir::YieldOp>(side.front().getTerminator());
      return yield && ReadsRow(yield.getValues()[result], depth + 1);
    });
  }
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return ReadsRow(operand, depth + 1); });
}

// How many lines of the fullest set the lanes come back to, as the loop walks along their rows.
double Task::LinesPerSetIn(mlir::Operation* loop) {
  // A short loop stays in the first lines of rows whose length is not known, which may be short.
  constexpr double kShort = 16;
  const bool is_short = MostTrips(*loop).value_or(kShort) < kShort;
  llvm::SmallVector<std::array<int64_t, 3>> rows;  // storage, base, stride
  double lines = 0;
  loop->walk([&](ir::GlobalOp op) {
    const Value address = op.getAddress();
    const auto found = is_short ? ByteStride(address, shapes_, kernel_) : RowStride(address);
    const int64_t stride = std::abs(found.value_or(0));
    if (stride < kLine) return;
    const auto component = static_cast<int>(op.getComponent());
    auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel_.getStorages()[op.getStorage()]);
    const int64_t base = dense ? dense.getComponentBase(component) : 0;
    const std::array<int64_t, 3> row = {static_cast<int64_t>(op.getStorage()), base, stride};
    if (llvm::is_contained(rows, row)) return;
    rows.push_back(row);
    lines += LinesPerSet(stride);
  });
  return lines;
}

// Cycles from what an iteration of a loop takes over, in values or in memory, to what it hands to
// the next one. Scalar code waits for them. 0 if the loop contains others, or only adds up.
double ChainLatency(ir::ForOp loop) {
  auto end = llvm::dyn_cast<ir::ContinueOp>(loop.getBody().front().getTerminator());
  if (!end) return 0;
  const LaneShapes shapes(loop);
  const Recurrences recurrences(loop.getBody(), shapes);
  llvm::DenseMap<Value, double> known;  // of values that follow from what is carried
  for (Value carried : loop.getCarried()) known[carried] = 0;
  const auto latest = [&](mlir::ValueRange values) {
    std::optional<double> last;
    for (Value value : values) {
      const auto found = known.find(value);
      if (found != known.end()) last = std::max(last.value_or(0), found->second);
    }
    return last;
  };
  bool has_loops = false;
  loop.getBody().walk([&](mlir::Operation* op) {
    has_loops |= llvm::isa<ir::ForOp, ir::LoopOp>(op);
    const std::optional<double> start = latest(op->getOperands());
    if (auto yield = llvm::dyn_cast<ir::YieldOp>(op)) {
      for (auto [result, value] : llvm::zip(op->getParentOp()->getResults(), yield.getValues())) {
        const std::optional<double> side = latest(value);
        if (side) known[result] = std::max(known.lookup(result), *side);
      }
    } else if (llvm::is_contained(recurrences.loads, llvm::dyn_cast<ir::LoadOp>(op))) {
      known[op->getResult(0)] = kLoadLatency;
    } else if (start && op->getNumResults() == 1 && op->getNumRegions() == 0) {
      known[op->getResult(0)] = *start + LatencyOf(*op);
    }
  });
  if (has_loops) return 0;
  double longest = 0;
  for (auto [carried, next] : llvm::zip(loop.getCarried(), end.getValues())) {
    if (!IsReduction(carried, next)) longest = std::max(longest, known.lookup(next));
  }
  for (ir::StoreOp store : recurrences.stores) {
    longest = std::max(longest, known.lookup(store.getValue()));
  }
  return longest;
}

bool IsWide(mlir::Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() > 32; }

// How many vectors the values of all lanes are.
double Task::VectorsOf(mlir::Type type) const { return IsWide(type) ? costs_.wide : 1; }

// Of each lane's load or store, where these are apart.
double Task::AccessOf(const std::optional<int64_t>& stride, bool store) const {
  if (is_masked_) return store ? costs_.scatter : costs_.gather;
  if (store) return stride ? kStridedStore : kScattered;
  return stride ? kStrided : kGathered;
}

// Of an element of a local array, which is often still on its way to the cache.
double Task::LocalAccess(bool store) const {
  return std::max(AccessOf({}, store), is_masked_ && !store ? costs_.gather : kLocalAccess);
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
    return {one, varies ? kLanes * LocalAccess(store) : one};
  }
  if (stride && *stride == bytes) {
    return {one, one * VectorsOf(type) + (bytes < 4 && is_masked_ ? costs_.bytes : 0)};
  }
  double each = AccessOf(stride, store);
  const std::optional<int64_t> row = RowStride(address);
  if (row && store && lines_per_set_ > 0) {
    each += kCrowdedStore * std::max(0.0, LinesPerSet(*row) - kLinesStored);
  } else if (row && !store) {
    each += std::min(kMostCrowded, kCrowdedLoad * std::max(0.0, lines_per_set_ - kLinesLoaded));
  }
  return {one, kLanes * each};
}

Task::Cost Task::ArithmeticCost(mlir::Operation& op) {
  if (op.getNumResults() == 0 || llvm::isa<arith::ConstantOp>(op)) return {};
  const mlir::Type type = op.getResult(0).getType();
  const bool wide = IsWide(type);
  double cost = 1;
  bool scalarised = false;
  if (llvm::isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op)) {
    cost = kDivision;
  } else if (IsDivision(op)) {
    cost = kLongDivision;
    scalarised = wide;
    if (!scalarised && Varies(op.getResult(0))) return {cost, kVectorDivision};
  } else if (llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    cost = 4;
  } else if (IsLibraryCall(op)) {
    cost = kLibrary;
    // These have no functions of vectors.
    const bool is_scalar = llvm::isa<arith::RemFOp, math::IPowIOp, math::FPowIOp>(op);
    scalarised = is_scalar || !kernel_.getFastMath();
  } else if (llvm::isa<math::MathDialect>(op.getDialect())) {
    cost = 2;
  } else if (llvm::isa<arith::MulIOp>(op) && wide) {
    if (Varies(op.getResult(0))) return {1, costs_.product};
  } else if (llvm::isa<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(op) &&
             (wide || IsWide(op.getOperand(0).getType()))) {
    if (Varies(op.getResult(0))) return {1, costs_.conversion};
  }
  if (!Varies(op.getResult(0))) return {cost, cost};
  return {cost, scalarised ? kLanes * (cost + kScalarised) : cost * VectorsOf(type)};
}

Task::Cost Task::CostOf(mlir::Operation& op) {
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
    if (GlobalInTree(load.getAddress())) return {kTreeLoad, kTreeLoad};
    if (kept_.contains(load)) return {kLoad, kKeptLoad};
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
    const bool diverges = shapes_.Diverges(&op);
    const bool around = std::exchange(is_masked_, is_masked_ || diverges);
    Cost sides = CostOf(branch.getThenRegion());
    sides.Add(CostOf(branch.getElseRegion()));
    is_masked_ = around;
    // Scalar code runs one side, lanes often both.
    return {2 + sides.scalar / 2, diverges ? 3 + sides.vector : 2 + sides.vector / 2};
  }
  return llvm::isa<ir::ForOp, ir::LoopOp>(op) ? LoopCost(op) : ArithmeticCost(op);
}

// What a comparison is about, without additions and changes of width.
Value Compared(Value value) {
  for (int depth = 0; depth < kIndexDepth; ++depth) {
    mlir::Operation* op = value.getDefiningOp();
    if (!llvm::isa_and_nonnull<arith::AddIOp, arith::ExtSIOp, arith::ExtUIOp>(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

// Whether a value is a remainder, which the front end may write as x - x / y * y.
bool IsRemainder(Value value) {
  mlir::Operation* op = value.getDefiningOp();
  if (llvm::isa_and_nonnull<arith::RemSIOp, arith::RemUIOp>(op)) return true;
  auto product = llvm::isa_and_nonnull<arith::SubIOp>(op)
                     ? op->getOperand(1).getDefiningOp<arith::MulIOp>()
                     : arith::MulIOp();
  return product && product.getLhs().getDefiningOp<arith::DivSIOp>();
}

// How much longer lanes run a loop that they leave in different iterations, of which one takes
// scalar code so many cycles.
double Task::DivergenceOf(mlir::Operation& loop, double iteration) {
  const bool is_while = llvm::isa<ir::LoopOp>(loop);
  double most = is_while ? kWhileDivergence : kDivergence;
  for (ir::BreakOp end : shapes_.EndsOf(&loop).breaks) {
    for (auto branch = end->getParentOfType<ir::IfOp>(); branch && loop.isAncestor(branch);
         branch = branch->getParentOfType<ir::IfOp>()) {
      if (iteration < kSearch && ReadsRow(branch.getCondition())) {
        most = std::max(most, kSearchDivergence);
      }
      auto compared = branch.getCondition().getDefiningOp<arith::CmpIOp>();
      if (!compared) continue;
      const Value value = Compared(compared.getLhs());
      if (IsRemainder(value)) return kDivisorDivergence;
      if (is_while && value.getDefiningOp<ir::LoadOp>()) most = std::max(most, kDataDivergence);
    }
  }
  return most;
}

// Of an iteration of an inner loop in LLVM's vectors, which have 32 bytes on all levels. `scalar`:
// without them. What it gathers, it loads one by one.
double Task::VectorisedByLlvm(ir::ForOp loop, double scalar) {
  constexpr double kGainOfNarrow = 6, kGainOfWide = 3;
  const LaneShapes shapes(loop);
  bool wide = false;
  double gathered = 0;
  loop.getBody().walk([&](mlir::Operation* op) {
    wide |= llvm::any_of(op->getResultTypes(), IsWide);
    if (GathersIn(shapes, *op)) ++gathered;
  });
  return (scalar - kLoad * gathered) / (wide ? kGainOfWide : kGainOfNarrow) + kGathered * gathered;
}

Task::Cost Task::LoopCost(mlir::Operation& op) {
  const double lines_around = std::exchange(lines_per_set_, LinesPerSetIn(&op));
  const bool masked_around = std::exchange(is_masked_, is_masked_ || shapes_.Diverges(&op));
  Cost loop = CostOf(op.getRegion(0));
  lines_per_set_ = lines_around;
  is_masked_ = masked_around;
  const double trips = MostTrips(op).value_or(kUnknownTrips);
  // A branch, the count and, of vectors, the mask.
  loop.Add({1, shapes_.Diverges(&op) ? 4.0 : 1.0});
  if (trips >= kLanes && LlvmVectorises(&op)) {
    loop.scalar = VectorisedByLlvm(llvm::cast<ir::ForOp>(op), loop.scalar);
  }
  if (!shapes_.Diverges(&op)) {
    auto counted = llvm::dyn_cast<ir::ForOp>(op);
    const double chain = counted ? ChainLatency(counted) : 0;
    return {std::max(loop.scalar, chain) * trips, std::max(loop.vector, chain) * trips};
  }
  loop.vector *= DivergenceOf(op, loop.scalar);
  return {loop.scalar * trips + kMispredicted, loop.vector * trips};
}

Task::Cost Task::CostOf(mlir::Region& region) {
  Cost sum;
  for (mlir::Operation& op : region.front()) sum.Add(CostOf(op));
  return sum;
}

bool Task::Has(llvm::function_ref<bool(mlir::Operation*)> is_wanted) {
  return task_.getBody()
      .walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
        return is_wanted(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// Whether LLVM leaves the body scalar.
bool Task::NeedsLanes() {
  const auto needs = [&](mlir::Operation* op) {
    if (llvm::isa<ir::AtomicOp>(op)) return op->getParentOp() != task_.getOperation();
    // With those inside.
    auto loop = llvm::dyn_cast<ir::ForOp>(op);
    if (loop) return !op->getParentOfType<ir::ForOp>() && !IsUnrolled(loop);
    return llvm::isa<ir::LoopOp>(op);
  };
  if (Has(needs)) return true;
  // Where data says which cells iterations access, little is gained.
  if (Scatters()) return Divides() && !Gathers();
  return Divides() || ReadsSharedCell() || (Gathers() && BranchesAroundStores());
}

// Whether iterations divide integers, which LLVM does one by one.
bool Task::Divides() {
  return Has([&](mlir::Operation* op) {
    return IsDivision(*op) && Varies(op->getResult(0)) &&
           op->getResult(0).getType().getIntOrFloatBitWidth() <= 32;
  });
}

// Whether iterations load from cells that data says.
bool Task::Gathers() {
  return Has([&](mlir::Operation* op) {
    auto load = llvm::dyn_cast<ir::LoadOp>(op);
    return load && load.getAddress().getDefiningOp<ir::GlobalOp>() &&
           !ByteStride(load.getAddress(), shapes_, kernel_);
  });
}

bool Task::Scatters() {
  return Has([&](mlir::Operation* op) {
    auto store = llvm::dyn_cast<ir::StoreOp>(op);
    return store && !ByteStride(store.getAddress(), shapes_, kernel_);
  });
}

// Whether iterations store in branches: LLVM would make a branch for each lane. With calls of
// functions it still gains, and it packs bytes better.
bool Task::BranchesAroundStores() {
  const auto branches = [&](mlir::Operation* op) {
    return llvm::isa<ir::StoreOp>(op) && op->getParentOp() != task_.getOperation();
  };
  const auto hinders = [&](mlir::Operation* op) {
    constexpr unsigned kLeastBits = 32;
    const Effects effects = EffectsOf(op);
    const auto is_narrow = [&](Value address) {
      const mlir::Type type = llvm::cast<ir::AddrType>(address.getType()).getPointee();
      return type.getIntOrFloatBitWidth() < kLeastBits;
    };
    return IsLibraryCall(*op) || llvm::any_of(effects.reads, is_narrow) ||
           llvm::any_of(effects.writes, is_narrow);
  };
  return Has(branches) && !Has(hinders);
}

// Whether all iterations of a row read a cell of a field that they write to, as in
// d[i, j] = min(d[i, j], d[i, k] + d[k, j]). LLVM would have to know that none of them writes it.
// Of cells with several components, such as matrices, it makes vectors within the cell.
bool Task::ReadsSharedCell() {
  llvm::SmallDenseSet<Component> written;
  task_.getBody().walk([&](ir::StoreOp store) {
    auto to = store.getAddress().getDefiningOp<ir::GlobalOp>();
    const int64_t bytes = (store.getValue().getType().getIntOrFloatBitWidth() + 7) / 8;
    if (to && ByteStride(to, shapes_, kernel_) == bytes) written.insert(ComponentOf(to));
  });
  return Has([&](mlir::Operation* op) {
    auto load = llvm::dyn_cast<ir::LoadOp>(op);
    auto from = load ? load.getAddress().getDefiningOp<ir::GlobalOp>() : ir::GlobalOp();
    return from && !Varies(from) && written.contains(ComponentOf(from));
  });
}

bool Task::Pays() {
  if (!NeedsLanes()) return false;
  const Cost cost = CostOf(task_.getBody());
  return kLanes * cost.scalar > kLeastGain * cost.vector;
}

void Task::Choose() {
  task_.setLanes(true);
  mlir::Builder builder(task_.getContext());
  for (auto [load, loops] : kept_) {
    load->setAttr(kKeptAttribute, builder.getI32IntegerAttr(loops));
  }
}

class Lanes : public mlir::PassWrapper<Lanes, mlir::OperationPass<ir::KernelOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Lanes)

  void runOnOperation() override {
    const auto wish = getOperation()->getAttrOfType<mlir::IntegerAttr>(kLanesAttribute);
    const LanesWish when = wish ? static_cast<LanesWish>(wish.getInt()) : LanesWish::kWhereTheyPay;
    if (when == LanesWish::kNever) return;
    const int64_t level = CpuLevelOf(getOperation()).value_or(kLeastLevelOfLanes);
    if (level < kLeastLevelOfLanes) return;
    const Costs& costs = level > kLeastLevelOfLanes ? kCostsOfV4 : kCostsOfV3;
    for (auto op : getOperation().getBody().getOps<ir::RangeTaskOp>()) {
      if (op.isSparse() || op.getNumDims() == 0 || op.getMaxThreads() == 1) continue;
      Task task(op, costs);
      if (!task.IsPossible()) continue;
      if (when == LanesWish::kWherePossible || task.Pays()) task.Choose();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateLanesPass() { return std::make_unique<Lanes>(); }

}  // namespace kiln
