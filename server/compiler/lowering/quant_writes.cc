#include "server/compiler/lowering/quant_writes.h"

#include "server/compiler/lowering/quant_bits.h"
#include "server/compiler/lowering/quant_words.h"

namespace kiln {

namespace {

// Whether stores may wait while the node runs: it only computes, or flushes what it would see.
bool LeavesWrites(const proto::Node& node) {
  switch (node.kind()) {
    case proto::LOCAL:
    case proto::ELEMENT:
    case proto::MEMBER:
    case proto::GLOBAL:
    case proto::JOIN:
    case proto::STORE:
    case proto::LOAD:
    case proto::CONST:
    case proto::PARAM:
    case proto::UNARY:
    case proto::BINARY:
    case proto::TERNARY:
    case proto::CAST_TO:
    case proto::PICK:
    case proto::REDUCE:
    case proto::MAKE_TENSOR:
    case proto::MAKE_STRUCT:
    case proto::EXTRACT:
    case proto::GET_MEMBER:
    case proto::LOOP_INDEX:
    case proto::SHAPE:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Whether the numbers can be written together with those that wait.
bool QuantWrites::Joins(const Root& root, Scalar compute, const WrittenNumbers& written) const {
  if (pending_->root.storage != root.storage || pending_->compute != compute ||
      pending_->root.indices != root.indices) {
    return false;
  }
  // A word lists the numbers of its own fields' groups only (Word.sharers); fields of other words
  // may be at the same position (Storages).
  const auto is_known = [&](const proto::QuantNumber& number) {
    return !number.shared_exponent() ||
           llvm::any_of(pending_->root.word->sharers(), [&](const proto::QuantNumber& other) {
             return other.exponent_offset() == number.exponent_offset();
           });
  };
  return llvm::all_of(written, [&](const auto& one) { return is_known(*one.first); });
}

void QuantWrites::Store(const Root& root, Scalar compute, const WrittenNumbers& written) {
  if (pending_ && !Joins(root, compute, written)) Flush();
  if (!pending_) pending_ = Pending{root, compute, {}, c_.loc};
  bool waits = false;
  for (const auto& one : written) {
    waits |= one.first->shared_exponent();  // others have nothing to gain from waiting
    // The last value of a number counts.
    llvm::erase_if(pending_->numbers, [&](const auto& other) {
      return other.first->bit_offset() == one.first->bit_offset();
    });
    pending_->numbers.push_back(one);
  }
  if (!waits || c_.emit.debug) Flush();
}

void QuantWrites::Flush() {
  if (!pending_) return;
  const Pending writes = *std::exchange(pending_, std::nullopt);
  // The update belongs to the stores, and not to the node before which it is emitted.
  const mlir::Location loc = std::exchange(c_.loc, writes.loc);
  QuantBits bits(&c_.b, c_.loc, *writes.root.word, writes.compute);
  llvm::SmallVector<QuantBits::Digits> digits;
  for (const auto& [number, value] : writes.numbers) digits.push_back(bits.Encode(*number, value));
  UpdateWord(c_, writes.root, [&](mlir::Value word) {
    return bits.Write(word, writes.numbers, digits, writes.root.shift);
  });
  c_.loc = loc;
}

void QuantWrites::FlushBefore(const proto::Node& node) {
  if (pending_ && !LeavesWrites(node)) Flush();
}

void QuantWrites::FlushBeforeRead(const Root& root) {
  if (!pending_) return;
  const int storage = pending_->root.storage;
  // Loads of other storages may pass the store.
  if (storage == root.storage || c_.storages.MayAlias(storage, root.storage)) Flush();
}

}  // namespace kiln
