// Reads at constant distances from a row's index, which leave the row's block at its ends.
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/tree_walk.h"

namespace kiln {

using llvm::Value;

// The offset of a cell of `node` in the cell of `anchor` above it; null unless the form of its
// coordinates shows all digits, and the row's axis is divided by one level only.
std::optional<Affine> TreeWalker::OffsetBelow(const Row& row, int64_t tree, int64_t node,
                                              int64_t anchor, Coordinates at) {
  Affine offset;
  for (int64_t n = node; n != anchor; n = Node(tree, n).getParent()) {
    ir::SNodeAttr level = Node(tree, n);
    offset.constant += level.getOffset();
    int64_t stride = level.getNumCells() * level.getCellBytes();
    for (int a = 0; a < level.getNumAxes(); ++a) {
      const int64_t axis = level.getAxis(a), extent = level.getExtent(a);
      stride /= extent;
      if (extent == 1) continue;
      Affine digit;
      if (axis == row.axis) {
        // The row has to be all of the level's cells along the axis, or the digit would not be the
        // row's index.
        if (extent != row.extent) return std::nullopt;
        std::swap(digit, at[axis]);
      } else {
        std::tie(at[axis], digit) = SplitAffine(at[axis], extent);
        if (!IsRemainder(digit, extent)) return std::nullopt;
      }
      offset.Add(digit, stride);
    }
  }
  return offset;
}

// Splits the coordinate along the row into the block and the rest in it, which is the row's index
// and the read's distance (shift). False: the read does not leave the row, or leaves it by more
// than one block, or its distance is not constant.
bool TreeWalker::SplitAlongRow(const Row& row, const Affine& at, Crossing* crossing, Affine* rest) {
  Affine& block = crossing->block[row.axis];
  std::tie(block, *rest) = SplitAffine(at, row.extent);
  if (rest->terms.size() != 1 || rest->terms[0].leaf != row.index || rest->terms[0].factor != 1) {
    return false;
  }
  crossing->shift = rest->constant + block.constant * row.extent;
  block.constant = 0;
  rest->constant = crossing->shift;
  return crossing->shift != 0 && std::abs(crossing->shift) < row.extent;
}

// The read as one along the row; nothing if it is none, or if its place in the block is not known
// by form. All coordinates must be computable before the row: of the row's index and of leaves that
// the row does not change.
std::optional<TreeWalker::Crossing> TreeWalker::CrossingOf(const Row& row, int64_t tree,
                                                           int64_t node, const Coordinates& at,
                                                           int64_t offset, int64_t bytes) {
  ir::TreeAttr shape = kernel_.getTree(tree);
  Crossing crossing = {Anchor(shape, node), 0, Coordinates(at.size()), Affine()};
  // Without an anchor all memory is one block and the read needs no help.
  if (crossing.anchor == 0 || !IsSteady(tree, node)) return std::nullopt;
  Coordinates rests(at.size());
  for (size_t axis = 0; axis < at.size(); ++axis) {
    const int64_t above = shape.getAxisExtent(crossing.anchor, axis);
    const int64_t extent = shape.getAxisExtent(node, axis) / above;
    const bool along = static_cast<int64_t>(axis) == row.axis;
    for (const Affine::Term& t : at[axis].terms) {
      if (!row.constant.contains(t.leaf) && !(along && t.leaf == row.index)) return std::nullopt;
    }
    if (along) {
      if (above == 1 || extent != row.extent) return std::nullopt;
      if (!SplitAlongRow(row, at[axis], &crossing, &rests[axis])) return std::nullopt;
    } else if (above == 1) {
      rests[axis] = at[axis];
    } else {
      std::tie(crossing.block[axis], rests[axis]) = SplitAffine(at[axis], extent);
    }
    if (!along && !IsRemainder(rests[axis], extent)) return std::nullopt;
  }
  const auto below = OffsetBelow(row, tree, node, crossing.anchor, rests);
  if (!below) return std::nullopt;
  crossing.offset = *below;
  crossing.offset.constant += offset;
  int64_t low, high;
  // The vector load also reads what the selection then replaces, so all of it must be within the
  // block.
  if (!crossing.offset.Range(&low, &high) || low < 0 ||
      high + bytes > Node(tree, crossing.anchor).getCellBytes()) {
    return std::nullopt;
  }
  // Cells that are not side by side make no vector.
  const bool dense = llvm::any_of(crossing.offset.terms, [&](const Affine::Term& t) {
    return t.leaf == row.index && t.factor == bytes;
  });
  return dense ? std::optional(std::move(crossing)) : std::nullopt;
}

bool TreeWalker::Crosses(const Row& row, int64_t tree, int64_t node, const Coordinates& at,
                         int64_t offset, int64_t bytes) {
  return CrossingOf(row, tree, node, at, offset, bytes).has_value();
}

void TreeWalker::OpenRow(Row row) {
  PushScope();
  llvm::BasicBlock* body = f_.NewBlock("row");
  row_.emplace(OpenedRow{b().GetInsertBlock(), body, scopes_.size() - 1, std::move(row)});
  b().SetInsertPoint(body);
}

void TreeWalker::CloseRow() {
  llvm::IRBuilder<>(row_->end).CreateBr(row_->body);
  row_.reset();
  PopScope();
}

// Emits at the end of the code before the row. Lookups of the scopes inside the row are not visible
// there; new ones are remembered for all of the row.
Value* TreeWalker::BeforeRow(llvm::function_ref<Value*()> emit) {
  llvm::BasicBlock* here = b().GetInsertBlock();
  // What the scopes inside know is computed in the row and would not dominate its use before it.
  const auto inner = scopes_.begin() + static_cast<ptrdiff_t>(row_->scope) + 1;
  std::vector<Scope> saved(std::make_move_iterator(inner), std::make_move_iterator(scopes_.end()));
  scopes_.erase(inner, scopes_.end());
  b().SetInsertPoint(row_->end);
  Value* value = emit();
  row_->end = b().GetInsertBlock();
  b().SetInsertPoint(here);
  scopes_.insert(scopes_.end(), std::make_move_iterator(saved.begin()),
                 std::make_move_iterator(saved.end()));
  return value;
}

Value* TreeWalker::ReadAcross(int64_t tree, int64_t node, const Coordinates& at, int64_t offset,
                              int64_t bytes, llvm::function_ref<Value*(Value*)> load) {
  if (!row_) return nullptr;
  const Row& row = row_->row;
  const auto crossing = CrossingOf(row, tree, node, at, offset, bytes);
  if (!crossing) return nullptr;
  Value* address = Go(QueryWalk(tree, node), crossing->anchor, crossing->block).pointer;
  if (Value* terms = EmitTerms(b(), crossing->offset)) {
    address = b().CreateInBoundsGEP(b().getInt8Ty(), address, terms);
  }
  Value* value =
      load(b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), address, crossing->offset.constant));
  const int64_t first = crossing->shift < 0 ? 0 : row.extent - crossing->shift;
  for (int64_t i = first; i < first + std::abs(crossing->shift); ++i) {
    // The values beyond the block, one for each iteration that leaves it: at most kMostEnds in all.
    Value* end = BeforeRow([&] {
      Coordinates there = at;
      there[row.axis].Add(Leaf(row.index), -1);
      there[row.axis].constant += i;
      Value* cell = Cell(tree, node, there, Access::kRead);
      return load(b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), cell, offset));
    });
    value = b().CreateSelect(b().CreateICmpEQ(row.index, b().getInt64(i)), end, value);
  }
  return value;
}

}  // namespace kiln
