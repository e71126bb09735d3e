#include "server/compiler/lowering/quant_words.h"

#include "llvm/Support/MathExtras.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

// Splits an index, without its offset, into that of a word of `count` cells and the cell in it.
struct Split {
  mlir::Value word, cell;
};

// Shifts round down, so an index below 0 leads just before the storage and not to its far end. With
// other counts, a negative index is undefined; unsigned division costs less.
Split SplitIndex(LoweringContext& c, mlir::Value index, int64_t count) {
  if (llvm::isPowerOf2_64(static_cast<uint64_t>(count))) {
    mlir::Value cell = c.Create<arith::AndIOp>(index, c.Int32(count - 1));
    const auto bits = static_cast<int64_t>(llvm::Log2_64(static_cast<uint64_t>(count)));
    return {c.Create<arith::ShRSIOp>(index, c.Int32(bits)), cell};
  }
  mlir::Value cell = c.Create<arith::RemUIOp>(index, c.Int32(count));
  return {c.Create<arith::DivUIOp>(index, c.Int32(count)), cell};
}

// An i32 as an integer of the word's type.
mlir::Value AsWord(LoweringContext& c, mlir::Value value, const Root& root) {
  const unsigned width = root.word->bits();
  mlir::Type type = WordType(c, root);
  if (width < 32) return c.Create<arith::TruncIOp>(type, value);
  if (width > 32) return c.Create<arith::ExtUIOp>(type, value);
  return value;
}

}  // namespace

const WordIndices::Parts* WordIndices::Find(mlir::Value index, int64_t cells,
                                            int64_t offset) const {
  const auto found = parts_.find(index);
  if (found == parts_.end() || found->second.cells != cells || found->second.offset != offset) {
    return nullptr;
  }
  return &found->second;
}

void EnterWord(LoweringContext& c, ParamId param, Root* root) {
  const proto::Storage& storage = c.StorageOf(param);
  if (!storage.has_word()) return;
  root->word = &storage.word();
  if (root->word->digits().empty()) return;  // a bit struct: one cell a word
  llvm::SmallVector<mlir::Value> cells(root->indices.size());
  for (size_t axis = 0; axis < root->indices.size(); ++axis) {
    const int64_t count = c.storages.CellsInWord(root->storage, static_cast<int64_t>(axis));
    const int64_t offset = c.storages.AxisOffset(root->storage, static_cast<int64_t>(axis));
    mlir::Value& index = root->indices[axis];
    if (const WordIndices::Parts* known = c.words->Find(index, count, offset)) {
      cells[axis] = known->cell;
      index = known->word;
      continue;
    }
    if (offset != 0) index = c.Sub(index, c.Int32(offset));
    if (count == 1) continue;
    const Split split = SplitIndex(c, index, count);
    index = split.word;
    cells[axis] = split.cell;
  }
  mlir::Value shift;
  for (const proto::Digit& digit : root->word->digits()) {
    mlir::Value cell = cells[digit.axis()];
    if (!cell) continue;
    mlir::Value bits =
        c.CreateOrFold<arith::MulIOp>(cell, c.Int32(static_cast<int64_t>(digit.stride())));
    shift = shift ? c.Add(shift, bits) : bits;
  }
  if (shift) root->shift = AsWord(c, shift, *root);
}

mlir::Type WordType(LoweringContext& c, const Root& root) {
  return c.b.getIntegerType(root.word->bits());
}

mlir::Value WordAddress(LoweringContext& c, const Root& root) {
  // All components of a field are in one word. They share one address, so that passes see it.
  mlir::Type type = ir::AddrType::get(c.b.getContext(), WordType(c, root));
  return c.Create<ir::GlobalOp>(type, root.storage, /*component=*/0, root.indices,
                                c.storages.no_activate[root.storage]);
}

mlir::Value UpdateWord(LoweringContext& c, const Root& root,
                       llvm::function_ref<mlir::Value(mlir::Value)> change) {
  mlir::Type type = WordType(c, root);
  auto update = c.Create<ir::UpdateOp>(type, WordAddress(c, root));
  mlir::OpBuilder::InsertionGuard guard(c.b);
  // The word is an argument of the body, which runs again where another thread changed it
  // meanwhile.
  mlir::Block& body = update.getBody().emplaceBlock();
  c.b.setInsertionPointToStart(&body);
  mlir::Value made = change(body.addArgument(type, c.loc));
  c.Create<ir::YieldOp>(made);
  return update.getOld();
}

Scalars IndicesInWords(LoweringContext& c, int storage, const Scalars& words,
                       const Scalars& cells) {
  const proto::Word& word = c.storages.quant_arrays[storage]->word();
  Scalars indices;
  for (int64_t axis = 0; axis < static_cast<int64_t>(words.size()); ++axis) {
    const int64_t count = c.storages.CellsInWord(storage, axis);
    const int64_t offset = c.storages.AxisOffset(storage, axis);
    mlir::Value cell = c.Int32(0);
    for (int d = 0; d < word.digits_size(); ++d) {
      if (word.digits(d).axis() == axis) cell = cells[d];
    }
    mlir::Value index = words[axis];
    if (count != 1) index = c.Add(c.Mul(index, c.Int32(count)), cell);
    if (offset != 0) index = c.Add(index, c.Int32(offset));
    // Accesses at this index find its parts again, without a division.
    if (count != 1 || offset != 0) {
      c.words->Add(index, {words[axis], count == 1 ? mlir::Value() : cell, count, offset});
    }
    indices.push_back(index);
  }
  return indices;
}

}  // namespace kiln
