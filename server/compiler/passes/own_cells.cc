#include "server/compiler/passes/own_cells.h"

#include "server/compiler/dialect/constants.h"

namespace kiln {
namespace {

// Reads an index expression into `out`; false if it is of another form. The grammar, in which d is
// an index of the loop and c a constant:
//
//   index  := number | d + c | c
//   number := d | number * c + d    where 0 <= d < c
//
// The condition is what makes numbers of different digits differ.
bool ParseAxis(mlir::Value index, ir::ParallelForOp loop, OwnCell::Axis* out) {
  if (const auto number = ConstantOf(index)) {
    out->offset += *number;
    return true;
  }
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(index)) {
    if (argument.getOwner() != &loop.getBodyRegion().front()) return false;
    out->digits.push_back(argument.getArgNumber());
    return true;
  }
  auto add = index.getDefiningOp<mlir::arith::AddIOp>();
  if (!add) return false;
  if (const auto number = ConstantOf(add.getRhs())) {
    out->offset += *number;
    return ParseAxis(add.getLhs(), loop, out);
  }
  auto low = llvm::dyn_cast<mlir::BlockArgument>(add.getRhs());
  auto high = add.getLhs().getDefiningOp<mlir::arith::MulIOp>();
  if (!low || !high || low.getOwner() != &loop.getBodyRegion().front()) return false;
  const unsigned dimension = low.getArgNumber();
  if (loop.isSparse()) return false;
  const auto radix = ConstantOf(high.getRhs());
  const auto bounds = ConstantBoundsOf(loop.getLowers()[dimension], loop.getUppers()[dimension]);
  if (!radix || !bounds || bounds->lower != 0 || bounds->upper > *radix) return false;
  if (!ParseAxis(high.getLhs(), loop, out) || out->offset != 0) return false;
  out->digits.push_back(dimension);
  return true;
}

// Whether no two iterations of the loop access the same cell at this address. That is so if each of
// the loop's dimensions is a digit of some axis that tells the storage's cells apart.
bool ParseOwnCell(mlir::Value address, ir::ParallelForOp loop, OwnCell* out) {
  address = ArrayOf(address);  // an iteration owns all elements of its cell
  auto global = address.getDefiningOp<ir::GlobalOp>();
  auto component = address.getDefiningOp<ir::ComponentOp>();
  if (!global && !component) return false;
  auto kernel = loop->getParentOfType<ir::KernelOp>();
  out->storage = static_cast<int64_t>(global ? global.getStorage() : component.getStorage());
  const int64_t first = global ? global.getComponent() : component.getFirst();
  llvm::SmallVector<bool> seen(loop.getBody().getNumArguments());
  for (mlir::Value index : global ? global.getIndices() : component.getIndices()) {
    const int64_t axis = out->axes.size();
    OwnCell::Axis parsed;
    if (!ParseAxis(index, loop, &parsed) || parsed.digits.empty()) parsed = {};
    out->axes.push_back(parsed);
    if (!Distinguishes(kernel, out->storage, first, axis)) continue;
    for (unsigned dimension : out->axes.back().digits) seen[dimension] = true;
  }
  return llvm::all_of(seen, [](bool b) { return b; });
}

}  // namespace

OwnCells::OwnCells(ir::ParallelForOp loop, const FunctionFacts& functions) : loop_(loop) {
  // Loops write in few ways, however long their bodies are.
  const auto add = [&](mlir::Value address) {
    Write write{ClassOf(address), false, {}};
    write.own = ParseOwnCell(address, loop, &write.cell);
    for (const Write& known : writes_) {
      if (known.cells == write.cells && known.own == write.own && known.cell == write.cell) return;
    }
    writes_.push_back(std::move(write));
  };
  loop.walk([&](mlir::Operation* op) {
    const Effects effects = functions.EffectsOf(op);
    if (effects.Has(kTouchesMemory)) writes_.push_back({});  // anywhere
    for (mlir::Value address : effects.writes) add(address);
  });
}

bool OwnCells::Has(mlir::Value address) const {
  OwnCell cell;
  const MemoryClass cells = ClassOf(address);
  if (!ParseOwnCell(address, loop_, &cell)) return false;
  return llvm::all_of(writes_, [&](const Write& write) {
    return !MayOverlap(write.cells, cells) || (write.own && write.cell == cell);
  });
}

std::optional<llvm::SmallVector<int64_t>> OwnCells::ApartFrom(mlir::Value address) const {
  OwnCell cell;
  const MemoryClass cells = ClassOf(address);
  if (cells.kind != MemoryClass::kAliasSet || !ParseOwnCell(address, loop_, &cell)) return {};
  auto kernel = loop_->getParentOfType<ir::KernelOp>();
  const auto is_array = [&](int64_t storage) {
    return storage >= 0 && llvm::isa<ir::NdarrayAttr>(kernel.getStorages()[storage]);
  };
  if (!is_array(cell.storage)) return {};
  llvm::SmallVector<int64_t> others;
  for (const Write& write : writes_) {
    if (!MayOverlap(write.cells, cells) || (write.own && write.cell == cell)) continue;
    if (!is_array(write.cell.storage) || write.cell.storage == cell.storage) return {};
    if (!llvm::is_contained(others, write.cell.storage)) others.push_back(write.cell.storage);
  }
  if (others.empty()) return {};
  return others;
}

}  // namespace kiln
