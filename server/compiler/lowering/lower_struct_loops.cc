#include "server/compiler/lowering/lower_struct_loops.h"

#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/extents.h"
#include "server/compiler/lowering/lanes.h"
#include "server/compiler/lowering/lower_checks.h"
#include "server/compiler/lowering/lower_loops.h"
#include "server/compiler/lowering/quant_words.h"

namespace kiln {

namespace {

// One struct-for: the digits that it runs over, and how their indices become the field's.
struct StructLoop {
  StructLoop(LoweringContext& c, StructForNode of)
      : node(of),
        storage(c.storages.Of(of.param())),
        config(c.ConfigOf(static_cast<uint64_t>(of.config()))) {}

  const StructForNode node;
  const int storage;
  const proto::LoopConfig& config;

  struct Digit {
    int64_t axis;  // of the field
    int64_t extent;
  };
  llvm::SmallVector<Digit> digits;
  Scalars uppers;  // the extents as values
  int64_t axes = 0;
};

// The index of each axis from its digits, the first one outermost.
Scalars IndicesFromDigits(LoweringContext& c, const StructLoop& loop, const Scalars& digits) {
  Scalars indices(loop.axes);
  for (auto [digit, value] : llvm::zip(loop.digits, digits)) {
    mlir::Value& index = indices[digit.axis];
    // The outermost digit has no multiplier, so its extent, which may be known at launch only, is
    // not used.
    index = index ? c.Add(c.Mul(index, c.Int32(digit.extent)), value) : value;
  }
  for (mlir::Value& index : indices) {
    if (!index) index = c.Int32(0);  // an axis that no level divides
  }
  return indices;
}

// The body, at the indices of a cell as the user sees them.
void LowerAtCell(LoweringContext& c, const StructLoop& loop, const Scalars& indices) {
  c.loops[loop.node.id()] = {proto::I32, indices};
  LowerLoopBody(c, loop.node.body());
}

// --- Over quant arrays -------------------------------------------------------------

// The body of a parallel loop at a word: a serial loop over its cells, so that no two threads write
// to one word. Bodies that lanes can run do so for all cells at once.
void LowerAtWord(LoweringContext& c, const StructLoop& loop, const Scalars& words, bool by_lanes) {
  if (by_lanes) {
    LowerByLanes(c, loop.node, loop.storage, words);
    c.Create<ir::ContinueOp>();
    return;
  }
  Scalars cells;
  mlir::Value zero = c.Int32(0);
  for (const proto::Digit& digit : c.storages.quant_arrays[loop.storage]->word().digits()) {
    cells.push_back(BeginFor(c, zero, c.Int32(static_cast<int64_t>(digit.extent()))));
  }
  LowerAtCell(c, loop, IndicesInWords(c, loop.storage, words, cells));
  for (size_t i = 0; i < cells.size(); ++i) ContinueOuterLoop(c);
}

// A loop over the words of a quant array that is not below sparse SNodes; `loop` has their digits.
void LowerOverWords(LoweringContext& c, const StructLoop& loop) {
  LoopBox box{{}, loop.uppers, loop.config, loop.storage};
  const BlockId block = loop.node.body();
  if (c.IsParallel(loop.config)) {
    if (box.uppers.empty()) box.uppers.push_back(c.Int32(1));
    box.lowers.assign(box.uppers.size(), c.Int32(0));
    // Asked before the nest is begun, as the question emits code on trial.
    const bool by_lanes = CanRunByLanes(c, loop.node, loop.storage);
    return LowerNest(c, box, block, [&](const Scalars& digits) {
      LowerAtWord(c, loop, IndicesFromDigits(c, loop, digits), by_lanes);
    });
  }
  // Words and cells in one nest, so that a break leaves both.
  for (const proto::Digit& digit : c.storages.quant_arrays[loop.storage]->word().digits()) {
    box.uppers.push_back(c.Int32(static_cast<int64_t>(digit.extent())));
  }
  box.lowers.assign(box.uppers.size(), c.Int32(0));
  LowerNest(c, box, block, [&](const Scalars& digits) {
    const auto cells = digits.begin() + loop.uppers.size();
    const Scalars words = IndicesFromDigits(c, loop, {digits.begin(), cells});
    LowerAtCell(c, loop, IndicesInWords(c, loop.storage, words, {cells, digits.end()}));
  });
}

// --- Over other storages -----------------------------------------------------------

Scalars AddOffsets(LoweringContext& c, int storage, Scalars indices) {
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const int64_t offset = c.storages.AxisOffset(storage, static_cast<int64_t>(axis));
    if (offset != 0) indices[axis] = c.Add(indices[axis], c.Int32(offset));
  }
  return indices;
}

// Digits and not axes, so that the innermost loop goes along memory whatever the layout.
void LowerOverDigits(LoweringContext& c, const StructLoop& loop) {
  if (c.storages.quant_arrays[loop.storage] != nullptr) return LowerOverWords(c, loop);
  LoopBox box{{}, loop.uppers, loop.config, loop.storage};
  if (box.uppers.empty()) box.uppers.push_back(c.Int32(1));  // without axes: one cell
  box.lowers.assign(box.uppers.size(), c.Int32(0));
  LowerNest(c, box, loop.node.body(), [&](const Scalars& digits) {
    LowerAtCell(c, loop, AddOffsets(c, loop.storage, IndicesFromDigits(c, loop, digits)));
  });
}

void LowerOverDense(LoweringContext& c, StructLoop loop, ir::DenseAttr dense) {
  loop.axes = dense.getAxes();
  loop.uppers = DigitExtents(c, loop.storage, c.b.getI32Type());
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    loop.digits.push_back({dense.getDigitAxis(d), dense.getDigitExtent(d)});
  }
  LowerOverDigits(c, loop);
}

void LowerOverNdarray(LoweringContext& c, StructLoop loop, ir::NdarrayAttr ndarray) {
  loop.axes = ndarray.getAxes();
  for (int64_t axis = 0; axis < loop.axes; ++axis) {
    loop.uppers.push_back(c.Create<ir::ExtentOp>(c.b.getI32Type(), loop.storage, axis));
    loop.digits.push_back({axis, 0});
  }
  LowerOverDigits(c, loop);
}

// Over a list of the active cells.
void LowerOverList(LoweringContext& c, const StructLoop& loop, ir::TreeFieldAttr field) {
  LowerListLoop(c, loop.storage, loop.config, field.getNumAxes(), [&](const Scalars& cell) {
    // The list was made before the loop, whose other iterations may deactivate the cell.
    if (c.unit.options().debug()) CheckVisited(c, loop.storage, field, cell);
    if (c.storages.quant_arrays[loop.storage] == nullptr) {
      return LowerAtCell(c, loop, AddOffsets(c, loop.storage, cell));
    }
    LowerAtWord(c, loop, cell, CanRunByLanes(c, loop.node, loop.storage));
  });
}

void LowerOverTree(LoweringContext& c, StructLoop loop, ir::TreeFieldAttr field) {
  ir::TreeAttr tree = c.storages.TreeOf(field);
  // Without a sparse level every cell is active, and no list is needed.
  if (tree.getLastSparse(field.getNode()) != 0) return LowerOverList(c, loop, field);
  loop.axes = field.getNumAxes();
  const llvm::ArrayRef<int64_t> axes = field.getAxes().asArrayRef();
  for (int64_t n : tree.getPath(field.getNode())) {
    for (int a = 0; a < tree.getNode(n).getNumAxes(); ++a) {
      const auto* index = llvm::find(axes, tree.getNode(n).getAxis(a));
      // No index of the field goes along this axis.
      if (index == axes.end()) continue;
      const int64_t extent = tree.getNode(n).getExtent(a);
      loop.digits.push_back({index - axes.begin(), extent});
      loop.uppers.push_back(c.Int32(extent));
    }
  }
  LowerOverDigits(c, loop);
}

}  // namespace

void Lower(LoweringContext& c, StructForNode node) {
  const StructLoop loop(c, node);
  const mlir::Attribute storage = c.storages.attributes[loop.storage];
  if (auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storage)) {
    LowerOverTree(c, loop, field);
  } else if (auto dense = llvm::dyn_cast<ir::DenseAttr>(storage)) {
    LowerOverDense(c, loop, dense);
  } else {
    LowerOverNdarray(c, loop, llvm::cast<ir::NdarrayAttr>(storage));
  }
}

}  // namespace kiln
