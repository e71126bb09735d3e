// Quantised numbers: bits of words that are loaded and updated whole. What several threads may
// write to at once is a kiln.update; passes make plain loads and stores of those that only one
// iteration meets.
#include "llvm/Support/MathExtras.h"
#include "server/compiler/lowering/lowering.h"
#include "server/compiler/lowering/quant_bits.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

using Digits = QuantBits::Digits;

// A number and what is written to it.
using Slot = std::pair<const proto::QuantNumber*, mlir::Value>;

// Groups of numbers that use one exponent are written together.
mlir::Value WriteAll(QuantBits& bits, mlir::Value word, llvm::ArrayRef<Slot> slots,
                     llvm::ArrayRef<Digits> digits, mlir::Value shift) {
  llvm::SmallVector<uint32_t> done;
  for (size_t i = 0; i < slots.size(); ++i) {
    const proto::QuantNumber& number = *slots[i].first;
    if (!number.shared_exponent()) {
      word = bits.Insert(word, number, shift, digits[i]);
      continue;
    }
    if (llvm::is_contained(done, number.exponent_offset())) continue;
    done.push_back(number.exponent_offset());
    llvm::SmallVector<QuantBits::Written> written;
    for (const Slot& slot : slots) {
      if (slot.first->shared_exponent() &&
          slot.first->exponent_offset() == number.exponent_offset()) {
        written.push_back(slot);
      }
    }
    word = bits.WriteShared(word, written);
  }
  return word;
}

}  // namespace

// --- Words -------------------------------------------------------------------------

int64_t Lowering::CellsInWord(int storage, int64_t axis) const {
  int64_t cells = 1;
  const proto::Storage* of = storages_.quant_arrays[storage];
  if (of == nullptr) return cells;
  for (const proto::Digit& digit : of->word().digits()) {
    if (digit.axis() == axis) cells *= static_cast<int64_t>(digit.extent());
  }
  return cells;
}

int64_t Lowering::AxisOffset(int storage, int64_t axis) const {
  if (const proto::Storage* of = storages_.quant_arrays[storage]) {
    const auto& offset = of->has_dense() ? of->dense().index_offset() : of->tree().index_offset();
    return offset.empty() ? 0 : offset[static_cast<int>(axis)];
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
  auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(storages_.attributes[storage]);
  return dense ? dense.getAxisOffset(axis) : tree ? tree.getAxisOffset(axis) : 0;
}

// The indices become those of words; where in them the cell lies becomes the shift.
void Lowering::EnterWord(const Node& node, Root* root) {
  const proto::Storage& storage =
      unit_.storages(unit_.kernel().body().params(node.index()).storage());
  if (!storage.has_word()) return;
  root->word = &storage.word();
  if (root->word->digits().empty()) return;
  mlir::Type type = b_.getIntegerType(root->word->bits());
  mlir::Value shift;
  llvm::SmallVector<mlir::Value> cells(root->indices.size());
  for (size_t axis = 0; axis < root->indices.size(); ++axis) {
    const int64_t count = CellsInWord(root->storage, axis);
    const int64_t offset = AxisOffset(root->storage, axis);
    mlir::Value& index = root->indices[axis];
    const auto known = in_word_.find(index);
    if (known != in_word_.end() && known->second.cells == count && known->second.offset == offset) {
      cells[axis] = known->second.cell;
      index = known->second.word;
      continue;
    }
    if (offset != 0) index = b_.create<arith::SubIOp>(loc_, index, Int32(offset));
    if (count == 1) continue;
    if (llvm::isPowerOf2_64(count)) {
      cells[axis] = b_.create<arith::AndIOp>(loc_, index, Int32(count - 1));
      index = b_.create<arith::ShRSIOp>(loc_, index, Int32(llvm::Log2_64(count)));
    } else {
      cells[axis] = b_.create<arith::RemUIOp>(loc_, index, Int32(count));
      index = b_.create<arith::DivUIOp>(loc_, index, Int32(count));
    }
  }
  for (const proto::Digit& digit : root->word->digits()) {
    mlir::Value cell = cells[digit.axis()];
    if (!cell) continue;
    mlir::Value bits = b_.createOrFold<arith::MulIOp>(loc_, cell, Int32(digit.stride()));
    shift = shift ? b_.create<arith::AddIOp>(loc_, shift, bits).getResult() : bits;
  }
  if (!shift) return;
  const unsigned width = root->word->bits();
  if (width < 32) shift = b_.create<arith::TruncIOp>(loc_, type, shift);
  if (width > 32) shift = b_.create<arith::ExtUIOp>(loc_, type, shift);
  root->shift = shift;
}

mlir::Value Lowering::WordAddress(const Root& root) {
  // All components of a field lie in one word: of one address, so that passes see it.
  mlir::Type type = ir::AddrType::get(context_, b_.getIntegerType(root.word->bits()));
  return b_.create<ir::GlobalOp>(loc_, type, root.storage, /*component=*/0, root.indices,
                                 storages_.no_activate[root.storage]);
}

mlir::Value Lowering::Update(const Root& root,
                             llvm::function_ref<mlir::Value(mlir::Value)> change) {
  mlir::Type type = b_.getIntegerType(root.word->bits());
  auto update = b_.create<ir::UpdateOp>(loc_, type, WordAddress(root));
  mlir::OpBuilder::InsertionGuard guard(b_);
  mlir::Block& body = update.getBody().emplaceBlock();
  b_.setInsertionPointToStart(&body);
  mlir::Value made = change(body.addArgument(type, loc_));
  b_.create<ir::YieldOp>(loc_, made);
  return update.getOld();
}

// --- Numbers -----------------------------------------------------------------------

mlir::Value Lowering::LoadNumber(const Place& place, const Index& at) {
  const Root& root = *place.root;
  FlushIfRead(root);
  const Scalar compute = (*root.scalars)[place.first];
  QuantBits bits(&b_, loc_, *root.word, compute, emit_);
  const auto read = [&](uint64_t component) {
    mlir::Value word = b_.create<ir::LoadOp>(loc_, bits.WordType(), WordAddress(root));
    return bits.Read(word, root.word->components(static_cast<int>(component)), root.shift);
  };
  if (!at.value) return read(place.first + at.number);
  mlir::Value chosen = read(place.first);
  for (uint64_t i = 1; i < place.count; ++i) {
    mlir::Value here = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, at.value, Int32(i));
    chosen = b_.create<arith::SelectOp>(loc_, here, read(place.first + i), chosen);
  }
  return chosen;
}

void Lowering::StoreNumbers(const Root& root, Scalar compute, const Written& written) {
  // A group's numbers are known to the words of all its fields, but not to those of others.
  const auto is_known = [&](const Slot& slot) {
    const proto::QuantNumber& number = *slot.first;
    return !number.shared_exponent() ||
           llvm::any_of(pending_->root.word->sharers(), [&](const proto::QuantNumber& other) {
             return other.exponent_offset() == number.exponent_offset();
           });
  };
  if (pending_ && (pending_->root.storage != root.storage || pending_->compute != compute ||
                   pending_->root.indices != root.indices || !llvm::all_of(written, is_known))) {
    FlushWrites();
  }
  if (!pending_) {
    pending_.reset(new PendingWrites{root, compute, {}, loc_});
  }
  bool shared = false;
  for (const Slot& slot : written) {
    shared |= slot.first->shared_exponent();
    llvm::erase_if(pending_->numbers, [&](const Slot& other) {
      return other.first->bit_offset() == slot.first->bit_offset();
    });
    pending_->numbers.push_back(slot);
  }
  if (!shared || emit_.debug) FlushWrites();
}

void Lowering::FlushWrites() {
  if (!pending_) return;
  const std::unique_ptr<PendingWrites> writes = std::move(pending_);
  const mlir::Location loc = std::exchange(loc_, writes->loc);
  const Root& root = writes->root;
  QuantBits bits(&b_, loc_, *root.word, writes->compute, emit_);
  llvm::SmallVector<Digits> digits;
  for (const auto& [number, value] : writes->numbers) {
    digits.push_back(number->shared_exponent() ? Digits() : bits.Encode(*number, value));
  }
  Update(root, [&](mlir::Value word) {
    return WriteAll(bits, word, writes->numbers, digits, root.shift);
  });
  loc_ = loc;
}

// Values, and accesses that flush themselves where they must.
bool Lowering::LeavesWrites(const Node& node) const {
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

void Lowering::FlushIfRead(const Root& root) {
  if (pending_ &&
      (pending_->root.storage == root.storage || MayAlias(pending_->root.storage, root.storage))) {
    FlushWrites();
  }
}

void Lowering::StoreNumber(const Place& place, const Index& at, mlir::Value value) {
  const Root& root = *place.root;
  if (!at.value) {
    const auto& number = root.word->components(static_cast<int>(place.first + at.number));
    return StoreNumbers(root, (*root.scalars)[place.first], {{&number, value}});
  }
  FlushWrites();
  QuantBits bits(&b_, loc_, *root.word, (*root.scalars)[place.first], emit_);
  llvm::SmallVector<Slot> slots;
  llvm::SmallVector<Digits> digits;
  Scalars here;
  for (uint64_t i = 0; i < place.count; ++i) {
    const auto& number = root.word->components(static_cast<int>(place.first + i));
    slots.emplace_back(&number, value);
    digits.push_back(number.shared_exponent() ? Digits() : bits.Encode(number, value));
    here.push_back(b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, at.value, Int32(i)));
  }
  Update(root, [&](mlir::Value old) {
    mlir::Value word = old;
    for (size_t i = 0; i < slots.size(); ++i) {
      mlir::Value made = WriteAll(bits, old, slots[i], digits[i], root.shift);
      word = b_.create<arith::SelectOp>(loc_, here[i], made, word);
    }
    return word;
  });
}

// Fixed-point sums add digits, as the reference: what is too little to be one changes nothing.
mlir::Value Lowering::AtomicNumber(const Place& place, const Index& at, proto::Op op,
                                   mlir::Value value) {
  const Root& root = *place.root;
  FlushWrites();
  const Scalar compute = (*root.scalars)[place.first];
  QuantBits bits(&b_, loc_, *root.word, compute, emit_);
  const bool adds = op == proto::OP_ATOMIC_ADD || op == proto::OP_ATOMIC_SUB;
  const auto change = [&](const proto::QuantNumber& number, mlir::Value added, mlir::Value word) {
    if (added) {
      mlir::Value old = bits.ReadDigits(word, number, root.shift);
      mlir::Value sum = op == proto::OP_ATOMIC_ADD
                            ? b_.create<arith::AddIOp>(loc_, old, added).getResult()
                            : b_.create<arith::SubIOp>(loc_, old, added).getResult();
      return bits.Insert(word, number, root.shift, {sum, {}});
    }
    mlir::Value old = bits.Read(word, number, root.shift);
    mlir::Value made = EmitBinary(b_, loc_, AtomicCombiner(op), compute, old, value, emit_);
    const Slot slot(&number, made);
    const Digits digits = number.shared_exponent() ? Digits() : bits.Encode(number, made);
    return WriteAll(bits, word, slot, digits, root.shift);
  };
  const auto number_of = [&](uint64_t i) -> const proto::QuantNumber& {
    return root.word->components(static_cast<int>(place.first + i));
  };
  const auto digits_of = [&](const proto::QuantNumber& number) -> mlir::Value {
    if (!adds || number.quant().kind() != proto::QuantType::QUANT_FIXED) return {};
    return bits.EncodeFixed(number, value);
  };
  if (!at.value) {
    const proto::QuantNumber& number = number_of(at.number);
    mlir::Value added = digits_of(number);
    mlir::Value old = Update(root, [&](mlir::Value word) { return change(number, added, word); });
    return bits.Read(old, number, root.shift);
  }
  Scalars here, added;
  for (uint64_t i = 0; i < place.count; ++i) {
    here.push_back(b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, at.value, Int32(i)));
    added.push_back(digits_of(number_of(i)));
  }
  mlir::Value old = Update(root, [&](mlir::Value word) {
    mlir::Value made = word;
    for (uint64_t i = 0; i < place.count; ++i) {
      made = b_.create<arith::SelectOp>(loc_, here[i], change(number_of(i), added[i], word), made);
    }
    return made;
  });
  mlir::Value chosen = bits.Read(old, number_of(0), root.shift);
  for (uint64_t i = 1; i < place.count; ++i) {
    chosen =
        b_.create<arith::SelectOp>(loc_, here[i], bits.Read(old, number_of(i), root.shift), chosen);
  }
  return chosen;
}

// --- Loops -------------------------------------------------------------------------

// The field's indices, from those of the word and the digits of the cell within it.
Scalars Lowering::IndicesInWords(int storage, const Scalars& words, const Scalars& cells) {
  const auto& of = storages_.quant_arrays[storage]->word();
  Scalars indices;
  for (int64_t axis = 0; axis < static_cast<int64_t>(words.size()); ++axis) {
    const int64_t count = CellsInWord(storage, axis), offset = AxisOffset(storage, axis);
    mlir::Value cell = Int32(0);
    for (int d = 0; d < of.digits_size(); ++d) {
      if (of.digits(d).axis() == axis) cell = cells[d];
    }
    mlir::Value index = words[axis];
    if (count != 1) {
      index = b_.create<arith::MulIOp>(loc_, index, Int32(count));
      index = b_.create<arith::AddIOp>(loc_, index, cell);
    }
    if (offset != 0) index = b_.create<arith::AddIOp>(loc_, index, Int32(offset));
    if (count != 1 || offset != 0) {
      in_word_[index] = {words[axis], count == 1 ? mlir::Value() : cell, count, offset};
    }
    indices.push_back(index);
  }
  return indices;
}

// Loops over the cells of a word within the body of a parallel loop; LoopBody closes them.
Scalars Lowering::OverCells(int storage, const Scalars& words) {
  Scalars cells;
  mlir::Value zero = Int32(0);
  for (const proto::Digit& digit : storages_.quant_arrays[storage]->word().digits()) {
    cells.push_back(BeginFor(zero, Int32(digit.extent())));
  }
  open_loops_ = static_cast<int>(cells.size());
  return IndicesInWords(storage, words, cells);
}

// The body of a parallel loop, at a word: what it does to all cells at once, or to each.
void Lowering::EnterWords(uint32_t id, int storage, const Scalars& words, bool by_words) {
  if (by_words) {
    by_words_ = ByWords{storage, id, words};
  } else {
    indices_[id] = OverCells(storage, words);
  }
}

// A struct-for over a quant array: the words in parallel, the cells of each one after the
// other. No two iterations meet in a word.
void Lowering::OverWords(const Node& node, int storage, const Scalars& words, uint64_t config,
                         WordsOf words_of) {
  const uint32_t id = node_;
  const proto::LoopConfig none;
  Scalars uppers = words;
  if (IsParallel(config == 0 ? none : unit_.kernel().loops(config - 1))) {
    if (uppers.empty()) uppers.push_back(Int32(1));
    const Scalars lowers(uppers.size(), Int32(0));
    const bool by_words = GoesByWords(node, storage);
    return Nest(lowers, uppers, config, storage, node.blocks(0), [&](const Scalars& digits) {
      EnterWords(id, storage, words_of(digits), by_words);
    });
  }
  // In one nest, so that a break leaves it.
  for (const proto::Digit& digit : storages_.quant_arrays[storage]->word().digits()) {
    uppers.push_back(Int32(digit.extent()));
  }
  const Scalars lowers(uppers.size(), Int32(0));
  Nest(lowers, uppers, config, storage, node.blocks(0), [&](const Scalars& digits) {
    const auto cells = digits.begin() + words.size();
    indices_[id] =
        IndicesInWords(storage, words_of({digits.begin(), cells}), {cells, digits.end()});
  });
}

}  // namespace kiln
