#include "server/compiler/codegen/cpu/vectorise.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/codegen/struct_plan.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/effects.h"
#include "server/compiler/dialect/lane_shapes.h"

namespace kiln::cpu {
namespace {

// Whether each iteration works on neighbouring components of cells, such as a matrix: SLP makes
// vectors of these. Across iterations the loop vectoriser would have to gather them.
bool IsOfComponents(ir::RangeTaskOp op) {
  constexpr int64_t kLeast = 8;
  auto kernel = op->getParentOfType<ir::KernelOp>();
  bool any = false;
  for (mlir::Operation& inner : op.getBody().front()) {
    if (inner.getNumRegions() > 0) return false;
    auto global = llvm::dyn_cast<ir::GlobalOp>(inner);
    if (!global) continue;
    auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[global.getStorage()]);
    if (!dense || dense.getNumDigits() == 0) return false;
    const auto count = static_cast<int64_t>(dense.getTypes().size());
    const int base = static_cast<int>(dense.getComponentBase(global.getComponent()));
    const int64_t stride = dense.getDigitStride(base, dense.getNumDigits() - 1);
    // Whole vectors of 4, and no gaps between the cells' components.
    if (count < kLeast || count % 4 != 0) return false;
    if (stride != count * Bytes(global.getType().getPointee())) return false;
    any = true;
  }
  return any;
}

// LLVM has no masks for cells of more elements.
constexpr int64_t kMostElements = 8;

// What a loop stores, in cells of which it leaves out a part: other members of a struct, or fields
// beside its own in one SNode.
struct PartialCells {
  int64_t numbers = 0;  // stored by an iteration
  int64_t bytes = 0;    // of the largest such cell
  // Whether LLVM can store vectors of them by masks, and whether so much of each cell is stored
  // that this pays.
  bool fit_masks = true;
  // Whether an iteration reads the cell behind its own, which the one before has stored to. Fields
  // of equal cells that do not adjoin are taken for those of one cell.
  bool are_read_behind = false;
};

// An index that is `factor` times the innermost index of a loop, plus a constant. Factor 0: it is
// something else.
struct Multiple {
  int64_t factor = 0, by = 0;
};

Multiple MultipleOf(mlir::Value index, mlir::Value innermost) {
  if (const Shifted at = ShiftOf(index); at.index == innermost) return {1, at.by};
  Multiple result;
  mlir::Operation* op = index.getDefiningOp();
  if (llvm::isa_and_nonnull<mlir::arith::AddIOp, mlir::arith::SubIOp>(op)) {
    const auto by = ConstantOf(op->getOperand(1));
    if (!by) return {};
    result.by = llvm::isa<mlir::arith::AddIOp>(op) ? *by : -*by;
    op = op->getOperand(0).getDefiningOp();
  }
  if (!llvm::isa_and_nonnull<mlir::arith::MulIOp>(op) || op->getOperand(0) != innermost) return {};
  const auto factor = ConstantOf(op->getOperand(1));
  if (!factor || *factor < 1 || *factor > kMostElements) return {};
  result.factor = *factor;
  return result;
}

// `strided`: with the indices 2 i, 2 i + 1, …, two elements are one cell.
PartialCells PartialCellsOf(ir::RangeTaskOp op, bool strided) {
  struct Cell {
    uint32_t storage;
    int64_t base, by, bytes, numbers, stored;
  };
  auto kernel = op->getParentOfType<ir::KernelOp>();
  llvm::SmallVector<Cell> cells;
  llvm::SmallVector<int64_t> behind;  // bytes of the cells
  for (auto global : op.getBody().front().getOps<ir::GlobalOp>()) {
    auto dense = llvm::dyn_cast<ir::DenseAttr>(kernel.getStorages()[global.getStorage()]);
    if (!dense || dense.getNumDigits() == 0 || global.getIndices().empty()) continue;
    const int64_t base = dense.getComponentBase(static_cast<int>(global.getComponent()));
    const int last = dense.getNumDigits() - 1;
    Multiple at = MultipleOf(global.getIndices()[dense.getDigitAxis(last)], op.getIndices().back());
    const int64_t bytes = at.factor * dense.getDigitStride(static_cast<int>(base), last);
    const int64_t own = Bytes(global.getType().getPointee());
    if (at.factor == 0 || (at.factor > 1 && !strided) || bytes <= own) continue;
    if (at.by < 0) behind.push_back(bytes);
    at.by = llvm::divideFloorSigned(at.by, at.factor);
    if (llvm::none_of(global->getUsers(), llvm::IsaPred<ir::StoreOp>)) continue;
    auto cell = llvm::find_if(cells, [&](const Cell& one) {
      return one.storage == global.getStorage() && one.base == base && one.by == at.by;
    });
    if (cell == cells.end()) {
      cells.push_back({static_cast<uint32_t>(global.getStorage()), base, at.by, bytes, 0, 0});
      cell = std::prev(cells.end());
    }
    ++cell->numbers;
    cell->stored += own;
  }
  // Of cells of 8 elements, 3 were twice as fast by a mask as one by one, and 1 slower.
  constexpr int64_t kLeastOfEight = 3;
  PartialCells found;
  for (const Cell& cell : cells) {
    if (cell.stored >= cell.bytes) continue;
    const int64_t element = cell.stored / cell.numbers;
    found.fit_masks &= element >= 4 && cell.bytes <= kMostElements * element &&
                       8 * cell.stored >= kLeastOfEight * cell.bytes;
    found.numbers += cell.numbers;
    found.bytes = std::max(found.bytes, cell.bytes);
    found.are_read_behind |= llvm::is_contained(behind, cell.bytes);
  }
  return found;
}

// Whether iterations one after the other are faster than vectors across them, since each stores a
// part of a cell only. LLVM then stores the elements of a vector one by one, at addresses that it
// takes from another vector; and where the next iteration reads a cell whole, with what has just
// been stored there, the processor waits until that is in the cache. Measured on a Zen 5: particles
// that move, as structs, take a fifth of the time.
bool StoresPartsOfCells(ir::RangeTaskOp op) {
  // Operations for each number that is stored, up to which vectors do not repay that.
  constexpr int64_t kOfShortCells = 3, kOfLongCells = 5, kIfReadBehind = 12;
  constexpr int64_t kLongCell = 16;
  if (op.getNumDims() == 0) return false;
  const PartialCells cells = PartialCellsOf(op, /*strided=*/false);
  if (cells.numbers == 0) return false;
  int64_t computed = 0;
  for (mlir::Operation& inner : op.getBody().front()) {
    if (inner.getNumRegions() > 0 || llvm::isa<mlir::math::MathDialect>(inner.getDialect()) ||
        llvm::isa<mlir::arith::DivFOp>(inner)) {
      return false;
    }
    // Sums of integers are rather indices.
    const bool is_of_floats =
        llvm::any_of(inner.getOperandTypes(), llvm::IsaPred<mlir::FloatType>) ||
        llvm::any_of(inner.getResultTypes(), llvm::IsaPred<mlir::FloatType>);
    const bool is_index =
        !is_of_floats && llvm::isa<mlir::arith::AddIOp, mlir::arith::SubIOp>(inner);
    computed += llvm::isa<mlir::arith::ArithDialect>(inner.getDialect()) &&
                inner.getNumOperands() > 0 && !is_index;
  }
  const int64_t most = cells.are_read_behind      ? kIfReadBehind
                       : cells.bytes >= kLongCell ? kOfLongCells
                                                  : kOfShortCells;
  return computed <= most * cells.numbers;
}

// The cells that a body accesses.
struct Accesses {
  llvm::SmallVector<ir::GlobalOp> reads, writes;
};

// nullopt: the body does more than load, compute and then store, or accesses other memory than
// cells of dense fields and arrays. Locals are such: they are the same memory in all iterations.
std::optional<Accesses> AccessesOf(mlir::Region& body) {
  auto kernel = body.getParentOfType<ir::KernelOp>();
  Accesses accesses;
  const auto add = [&](llvm::ArrayRef<mlir::Value> addresses, llvm::SmallVector<ir::GlobalOp>* to) {
    return llvm::all_of(addresses, [&](mlir::Value address) {
      to->push_back(address.getDefiningOp<ir::GlobalOp>());
      return to->back() &&
             !llvm::isa<ir::TreeFieldAttr>(kernel.getStorages()[to->back().getStorage()]);
    });
  };
  const auto walked = body.walk([&](mlir::Operation* op) {
    const Effects effects = EffectsOf(op);
    // A loop that stores may read in its next iteration.
    const bool may_read_later =
        op->getParentOfType<ir::ForOp>() || op->getParentOfType<ir::LoopOp>();
    const bool is_plain =
        !effects.Has(~kLeaves) && (effects.reads.empty() || accesses.writes.empty()) &&
        (effects.writes.empty() || !may_read_later) && add(effects.reads, &accesses.reads) &&
        add(effects.writes, &accesses.writes);
    return is_plain ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return walked.wasInterrupted() ? std::nullopt : std::optional(std::move(accesses));
}

}  // namespace

bool StoresByMasks(ir::RangeTaskOp op) {
  if (op.getNumDims() == 0 || IsOfComponents(op)) return false;
  const PartialCells cells = PartialCellsOf(op, /*strided=*/true);
  // What reads a cell behind its own waits for the store, which covers other bytes.
  return cells.numbers > 0 && cells.fit_masks && !cells.are_read_behind &&
         llvm::none_of(op.getBody().front(),
                       [](mlir::Operation& inner) { return inner.getNumRegions() > 0; });
}

bool AreIndependent(ir::RangeTaskOp op) {
  // A thread's own loop may depend on the order.
  if (op.isSparse() || op.getNumDims() == 0 || op.getMaxThreads() == 1) return false;
  const std::optional<Accesses> accesses = AccessesOf(op.getBody());
  if (!accesses) return false;
  auto kernel = op->getParentOfType<ir::KernelOp>();
  const LaneShapes shapes(op);
  const auto is_of_data = [&](ir::GlobalOp read) {
    auto array = llvm::dyn_cast<ir::NdarrayAttr>(kernel.getStorages()[read.getStorage()]);
    return array && array.getAlias() != 0 && !ByteStride(read, shapes, kernel);
  };
  if (llvm::none_of(accesses->reads, is_of_data)) return false;
  // Of each storage, an iteration stores to one cell that no other one of its row stores to.
  llvm::SmallDenseMap<int64_t, ir::GlobalOp> own;
  const auto is_own = [&](ir::GlobalOp global) {
    const auto known = own.find(global.getStorage());
    return known == own.end() || llvm::equal(known->second.getIndices(), global.getIndices());
  };
  for (ir::GlobalOp write : accesses->writes) {
    if (ByteStride(write, shapes, kernel).value_or(0) == 0 || !is_own(write)) return false;
    own[write.getStorage()] = write;
  }
  return llvm::all_of(accesses->reads, is_own);
}

FunctionEmitter::Vectorise VectoriseOf(ir::RangeTaskOp op, bool by_masks) {
  return IsOfComponents(op) || (!by_masks && StoresPartsOfCells(op))
             ? FunctionEmitter::Vectorise::kBySlp
             : FunctionEmitter::Vectorise::kAsLlvmSees;
}

}  // namespace kiln::cpu
