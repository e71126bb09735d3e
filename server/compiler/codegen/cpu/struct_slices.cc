// Loops over the active cells of a slice, by the kind of the node: an array of pointers, cells with
// a mask, or a chunk of a list.
#include "server/compiler/codegen/cpu/struct_emitter.h"

namespace kiln::cpu {

using llvm::BasicBlock;
using llvm::Value;

// Cells whose activity one word of a mask states.
static constexpr int64_t kWordCells = 32;

// A kind without a case does not build.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

// The active ones of the cells [begin, end) of a container.
Accumulators StructEmitter::Slice(Value* begin, Value* end, const Accumulators& start) {
  switch (Node().getKind()) {
    case SNodeKind::kPointer:
      return Slots(begin, end, start);
    case SNodeKind::kBitmasked:
      return Words(begin, end, start);
    case SNodeKind::kDynamic:
      return Chunk(begin, end, start);
    case SNodeKind::kRoot:
    case SNodeKind::kDense:
    case SNodeKind::kPlace:
    case SNodeKind::kBitStruct:
    case SNodeKind::kQuantArray:
      break;
  }
  llvm_unreachable("lists are of sparse nodes");
}

#pragma GCC diagnostic pop

// --- pointer ---------------------------------------------------------------------------

Accumulators StructEmitter::Slots(Value* begin, Value* end, const Accumulators& start) {
  return Loop(begin, end, start, [&](Value* number, const Accumulators& values) {
    // Tested again: a slice has at least one active cell, and others may be inactive.
    auto* own = b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), cell_, number));
    f_.TagTables(own);
    return If(b_.CreateIsNotNull(own), values,
              [&] { return Iteration(Digits(number), own, values); });
  });
}

// --- dynamic ---------------------------------------------------------------------------

Accumulators StructEmitter::Chunk(Value* begin, Value* end, const Accumulators& start) {
  Value* count = b_.CreateNSWSub(end, begin);
  const int64_t cells = Node().getNumCells();
  return Loop(b_.getInt64(0), count, start, [&](Value* number, const Accumulators& values) {
    TreeWalker::Coordinates index = at_;
    Affine& own = index[Node().getAxis(0)];
    own = Leaf(b_.CreateNSWAdd(begin, number), 0, cells - 1);
    return Iteration(index, Cell(number), values);
  });
}

// --- bitmasked -------------------------------------------------------------------------

// The active ones of the 32 cells from `first` on: `word` is their part of the mask.
Accumulators StructEmitter::Bits(Value* word, Value* first, const Accumulators& start) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* header = f_.NewBlock("bits");
  BasicBlock* inside = f_.NewBlock("bit");
  BasicBlock* exit = f_.NewBlock("bits_end");
  auto values = f_.Phis(header, AccumulatorTypes());
  llvm::PHINode* left = llvm::IRBuilder<>(header, header->begin()).CreatePHI(word->getType(), 2);
  left->addIncoming(word, before);
  f_.BranchTo(header, values, start);
  b_.SetInsertPoint(header);
  b_.CreateCondBr(b_.CreateIsNotNull(left), inside, exit);
  b_.SetInsertPoint(inside);
  // True: `left` is not 0 here, so no test for it is needed.
  Value* bit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue());
  Value* number = b_.CreateNSWAdd(first, b_.CreateZExt(bit, b_.getInt64Ty()));
  f_.trees().PushScope();
  const Accumulators after =
      Iteration(Digits(number), Cell(number), Accumulators(values.begin(), values.end()));
  f_.trees().PopScope();
  BasicBlock* latch = b_.GetInsertBlock();
  // Clears the lowest bit. The word was read once: cells activated by this loop join the next list.
  Value* rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
  left->addIncoming(rest, latch);
  for (auto [phi, value] : llvm::zip(values, after)) phi->addIncoming(value, latch);
  f_.BranchBack(header);
  b_.SetInsertPoint(exit);
  return Accumulators(values.begin(), values.end());
}

// Word `number` of the container's mask.
Value* StructEmitter::MaskWord(Value* number) {
  Value* masks = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell_, Node().getMask());
  auto* word = b_.CreateAlignedLoad(
      b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), masks, number), llvm::Align(4));
  // Other threads of the task may activate cells of the same word.
  word->setAtomic(llvm::AtomicOrdering::Monotonic);
  f_.TagTables(word);
  return word;
}

// The `count` cells from `first` on, all of which are active: a plain loop. If the last axis has
// room for whole words (in_row_), the loop goes along one row. The index of a cell is then the
// first cell's plus the loop's.
Accumulators StructEmitter::FullWord(Value* first, int64_t count, const Accumulators& start) {
  const int last = Node().getNumAxes() - 1;
  Value* base = Cell(first);
  TreeWalker::Coordinates corner = at_;
  if (in_row_) {
    // IsInside has found that the body's neighbours are in the container as well. So each digit of
    // the first cell's index has narrower bounds than its extent: with them, Split- and
    // DivideAffine see by form that neighbours are in the same block, and emit no test.
    corner = Digits(first);
    for (int a = 0; a <= last; ++a) {
      if (Node().getExtent(a) == 1) continue;
      Affine::Term& digit = corner[Node().getAxis(a)].terms.back();
      digit.low = reach_[a].first;
      digit.high = Node().getExtent(a) - 1 - reach_[a].second;
      if (a == last) digit.high -= kWordCells - 1;  // the loop's index is added
    }
  }
  return Loop(b_.getInt64(0), b_.getInt64(count), start, [&](Value* k, const Accumulators& values) {
    TreeWalker::Coordinates index = corner;
    if (in_row_) {
      index[Node().getAxis(last)].Add(Leaf(k, 0, kWordCells - 1), 1);
    } else {
      index = Digits(b_.CreateNSWAdd(first, k));
    }
    Value* own = b_.CreateInBoundsGEP(b_.getInt8Ty(), base,
                                      b_.CreateNSWMul(k, b_.getInt64(Node().getCellBytes())));
    return Iteration(index, own, values);
  });
}

// i1: whether the container has all that the body reads at constant distances from the 32 cells
// from `first` on.
Value* StructEmitter::IsInside(Value* first) {
  const TreeWalker::Coordinates corner = Digits(first);
  Value* inside = b_.getTrue();
  for (int a = 0; a < Node().getNumAxes(); ++a) {
    const auto [before, beyond] = reach_[a];
    if (before == 0 && beyond == 0) continue;
    if (Node().getExtent(a) == 1) return b_.getFalse();
    const bool last = a + 1 == Node().getNumAxes();
    Value* digit = corner[Node().getAxis(a)].terms.back().leaf;
    // One comparison of unsigned numbers: before <= digit < extent - beyond, for each of the word's
    // cells if the axis is theirs.
    const int64_t room = Node().getExtent(a) - before - beyond - (last ? kWordCells - 1 : 0);
    inside = b_.CreateAnd(inside, b_.CreateICmpULT(b_.CreateSub(digit, b_.getInt64(before)),
                                                   b_.getInt64(std::max<int64_t>(room, 0))));
  }
  return inside;
}

// Word by word of the mask: empty words cost a test, full ones are plain loops.
Accumulators StructEmitter::PartlyActive(Value* begin, Value* end, const Accumulators& start) {
  const int64_t cells = std::min(Node().getNumCells(), kWordCells);
  // A plan with dimensions has its own loop for full containers (Words), so the body exists twice
  // already.
  const bool twice = plan_.dimensions.empty() && 2 * CountOps(task_.getBody()) <= kMostCopiedOps;
  Value* first_word = b_.CreateLShr(begin, 5);
  Value* last_word = b_.CreateLShr(b_.CreateNSWAdd(end, b_.getInt64(31)), 5);
  return Loop(first_word, last_word, start, [&](Value* number, const Accumulators& values) {
    Value* word = MaskWord(number);
    Value* first = b_.CreateShl(number, 5, "", /*HasNUW=*/true, /*HasNSW=*/true);
    if (!twice) return Bits(word, first, values);
    const uint32_t full = cells == kWordCells ? ~0u : (1u << cells) - 1;
    Value* plain = b_.CreateICmpEQ(word, b_.getInt32(full));
    if (in_row_) plain = b_.CreateAnd(plain, IsInside(first));
    return Either(
        plain, [&] { return FullWord(first, cells, values); },
        [&] { return Bits(word, first, values); });
  });
}

// i1: whether the slice is a whole container, all of whose cells are active.
Value* StructEmitter::AllActive(Value* begin, Value* end) {
  const int64_t cells = Node().getNumCells();
  Value* all = b_.getInt32(-1);
  for (int64_t word = 0; kWordCells * word < cells; ++word) {
    // Bits beyond the last cell are never set.
    const int64_t left = cells - kWordCells * word;
    const uint32_t absent = left >= kWordCells ? 0 : ~((1u << left) - 1);
    all = b_.CreateAnd(all, b_.CreateOr(MaskWord(b_.getInt64(word)), b_.getInt32(absent)));
  }
  Value* whole = b_.CreateICmpEQ(b_.CreateSub(end, begin), b_.getInt64(cells));
  return b_.CreateAnd(whole, b_.CreateICmpEQ(all, b_.getInt32(-1)));
}

// Of a small container, a loop for "all cells are active" besides.
Accumulators StructEmitter::Words(Value* begin, Value* end, const Accumulators& start) {
  if (plan_.dimensions.empty()) return PartlyActive(begin, end, start);
  return Either(
      AllActive(begin, end),
      [&] {
        up_ = at_;
        return Nest(0, start);
      },
      [&] { return PartlyActive(begin, end, start); });
}

}  // namespace kiln::cpu
