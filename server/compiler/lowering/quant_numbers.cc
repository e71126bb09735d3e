#include "server/compiler/lowering/quant_numbers.h"

#include "server/compiler/lowering/quant_bits.h"
#include "server/compiler/lowering/quant_words.h"
#include "server/compiler/lowering/quant_writes.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

Scalar ComputeTypeAt(const Place& place) { return (*place.root->scalars)[place.first]; }

QuantBits BitsOf(LoweringContext& c, const Place& place) {
  return QuantBits(&c.b, c.loc, *place.root->word, ComputeTypeAt(place));
}

// An atomic on one number: the word before -> the word after.
class NumberUpdate {
 public:
  // Emits what does not depend on the word, outside of what may run several times.
  NumberUpdate(LoweringContext& c, const Place& place, uint64_t i, proto::Op op, mlir::Value value)
      : c_(c),
        bits_(BitsOf(c, place)),
        number_(NumberAt(place, i)),
        shift_(place.root->shift),
        compute_(ComputeTypeAt(place)),
        op_(op),
        value_(value) {
    // Sums of fixed-point numbers are sums of their digits: exact, and cheaper than by way of a
    // float.
    const bool adds = op == proto::OP_ATOMIC_ADD || op == proto::OP_ATOMIC_SUB;
    if (adds && number_.quant().kind() == proto::QuantType::QUANT_FIXED) {
      added_ = bits_.EncodeFixed(number_, value);
    }
  }

  mlir::Value Change(mlir::Value word) {
    if (added_) {
      // Digits wrap, as integers do: Insert drops the bits above.
      mlir::Value old = bits_.ReadDigits(word, number_, shift_);
      mlir::Value sum = op_ == proto::OP_ATOMIC_ADD ? c_.Add(old, added_) : c_.Sub(old, added_);
      return bits_.Insert(word, number_, shift_, {sum, {}});
    }
    mlir::Value old = bits_.Read(word, number_, shift_);
    mlir::Value made =
        EmitBinary(c_.b, c_.loc, AtomicCombiner(op_), compute_, old, value_, c_.emit);
    // Through Write, as a number with a shared exponent changes the digits of the others.
    const QuantBits::Written written(&number_, made);
    const QuantBits::Digits digits = bits_.Encode(number_, made);
    return bits_.Write(word, written, digits, shift_);
  }

  mlir::Value Read(mlir::Value word) { return bits_.Read(word, number_, shift_); }

 private:
  LoweringContext& c_;
  QuantBits bits_;
  const proto::QuantNumber& number_;
  const mlir::Value shift_;
  const Scalar compute_;
  const proto::Op op_;
  const mlir::Value value_;
  mlir::Value added_;  // digits; null: the sum is one of values
};

}  // namespace

mlir::Value LoadNumber(LoweringContext& c, const Place& place, const Index& at) {
  const Root& root = *place.root;
  // The number may be among those whose store waits.
  c.writes->FlushBeforeRead(root);
  QuantBits bits = BitsOf(c, place);
  const auto read = [&](uint64_t i) {
    mlir::Value word = c.Create<ir::LoadOp>(WordType(c, root), WordAddress(c, root));
    return bits.Read(word, NumberAt(place, i), root.shift);
  };
  if (!at.value) return read(at.number);
  // Numbers have no addresses, and their widths may differ: read all, and select one.
  mlir::Value chosen = read(0);
  for (uint64_t i = 1; i < place.count; ++i) {
    mlir::Value here = c.Is(at.value, i);
    chosen = c.Select(here, read(i), chosen);
  }
  return chosen;
}

void StoreNumber(LoweringContext& c, const Place& place, const Index& at, mlir::Value value) {
  const Root& root = *place.root;
  if (!at.value) {
    return c.writes->Store(root, ComputeTypeAt(place), {{&NumberAt(place, at.number), value}});
  }
  // The word with each number written, of which the index chooses one. Such a store does not wait:
  // which number it writes is not known here.
  c.writes->Flush();
  QuantBits bits = BitsOf(c, place);
  llvm::SmallVector<QuantBits::Digits> digits;
  Scalars here;
  for (uint64_t i = 0; i < place.count; ++i) {
    digits.push_back(bits.Encode(NumberAt(place, i), value));
    here.push_back(c.Is(at.value, i));
  }
  UpdateWord(c, root, [&](mlir::Value old) {
    mlir::Value word = old;
    for (uint64_t i = 0; i < place.count; ++i) {
      const QuantBits::Written written(&NumberAt(place, i), value);
      mlir::Value made = bits.Write(old, written, digits[i], root.shift);
      word = c.Select(here[i], made, word);
    }
    return word;
  });
}

mlir::Value AtomicNumber(LoweringContext& c, const Place& place, const Index& at, proto::Op op,
                         mlir::Value value) {
  const Root& root = *place.root;
  c.writes->Flush();
  if (!at.value) {
    NumberUpdate number(c, place, at.number, op, value);
    mlir::Value old = UpdateWord(c, root, [&](mlir::Value word) { return number.Change(word); });
    return number.Read(old);
  }
  Scalars here;
  // Before the update, whose body may run several times: what does not depend on the word is
  // computed once.
  std::vector<NumberUpdate> numbers;
  for (uint64_t i = 0; i < place.count; ++i) {
    here.push_back(c.Is(at.value, i));
    numbers.emplace_back(c, place, i, op, value);
  }
  mlir::Value old = UpdateWord(c, root, [&](mlir::Value word) {
    mlir::Value made = word;
    for (uint64_t i = 0; i < place.count; ++i) {
      made = c.Select(here[i], numbers[i].Change(word), made);
    }
    return made;
  });
  // From the word before the update, as an atomic op returns the old value.
  mlir::Value chosen = numbers[0].Read(old);
  for (uint64_t i = 1; i < place.count; ++i) {
    chosen = c.Select(here[i], numbers[i].Read(old), chosen);
  }
  return chosen;
}

}  // namespace kiln
