#include "server/compiler/lowering/quant_bits.h"

#include "common/language/type.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "server/compiler/lowering/scalar_value.h"

namespace kiln {

namespace arith = mlir::arith;
using mlir::Value;

namespace {

constexpr uint32_t kFractionBits = 23;  // of f32
constexpr uint32_t kLeadingOne = 1u << kFractionBits;

uint64_t Mask(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
uint32_t Mask32(uint32_t bits) { return static_cast<uint32_t>(Mask(bits)); }
// f32's exponent minus the number's, for equal values.
// Both exponents are biased: f32's by 127, one of n bits by 2^(n-1) - 1.
uint32_t Bias(const proto::QuantType& quant) { return 128 - (1u << (quant.exponent_bits() - 1)); }
// Digits that hold the magnitude: the sign of floats is a bit above them.
uint32_t DigitBits(const proto::QuantType& quant) {
  return quant.bits() - (quant.is_signed() ? 1 : 0);
}

// Short names for ops on integers, folded where they can be.
struct Ops {
  mlir::OpBuilder& b;
  mlir::Location loc;

  template <typename Op>
  Value Make(Value x, Value y) const {
    return b.createOrFold<Op>(loc, x, y);
  }
  Value And(Value x, Value y) const { return Make<arith::AndIOp>(x, y); }
  Value Or(Value x, Value y) const { return Make<arith::OrIOp>(x, y); }
  Value Add(Value x, Value y) const { return Make<arith::AddIOp>(x, y); }
  Value Sub(Value x, Value y) const { return Make<arith::SubIOp>(x, y); }
  Value Shl(Value x, Value y) const { return Make<arith::ShLIOp>(x, y); }
  Value Shr(Value x, Value y) const { return Make<arith::ShRUIOp>(x, y); }
  Value Sar(Value x, Value y) const { return Make<arith::ShRSIOp>(x, y); }
  Value Min(Value x, Value y) const { return Make<arith::MinUIOp>(x, y); }
  Value Max(Value x, Value y) const { return Make<arith::MaxUIOp>(x, y); }
  Value Compare(arith::CmpIPredicate predicate, Value x, Value y) const {
    return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
  }
  Value Select(Value condition, Value x, Value y) const {
    return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  }
};

}  // namespace

Value QuantBits::Number(mlir::Type type, uint64_t value) {
  const llvm::APInt bits(64, value);
  return b_.create<arith::ConstantOp>(
      loc_, b_.getIntegerAttr(type, bits.trunc(type.getIntOrFloatBitWidth())));
}

Value QuantBits::Resized(Value integer, unsigned bits, bool is_signed) {
  const unsigned has = integer.getType().getIntOrFloatBitWidth();
  mlir::Type type = b_.getIntegerType(bits);
  if (has == bits) return integer;
  if (has > bits) return b_.createOrFold<arith::TruncIOp>(loc_, type, integer);
  return is_signed ? b_.createOrFold<arith::ExtSIOp>(loc_, type, integer)
                   : b_.createOrFold<arith::ExtUIOp>(loc_, type, integer);
}

// `bits` bits at an offset, zero-extended.
Value QuantBits::Unsigned(Value word, uint32_t offset, uint32_t bits) {
  const Ops ops{b_, loc_};
  Value low = offset == 0 ? word : ops.Shr(word, WordNumber(offset));
  // At the top of the word the shift has brought in zeros already.
  return offset + bits == word_.bits() ? low : ops.And(low, WordNumber(Mask(bits)));
}

// Signed digits are shifted to the word's top and back, which copies their sign.
Value QuantBits::ReadDigits(Value word, const proto::QuantNumber& number, Value shift) {
  const Ops ops{b_, loc_};
  const uint32_t bits = number.quant().bits();
  uint32_t offset = number.bit_offset();
  // Elements of a quant array: the offset depends on the index, so it is a value here.
  if (shift) {
    word = ops.Shr(word, offset == 0 ? shift : ops.Add(shift, WordNumber(offset)));
    offset = 0;
  }
  if (!number.quant().is_signed()) {
    return shift ? ops.And(word, WordNumber(Mask(bits))) : Unsigned(word, offset, bits);
  }
  const uint32_t up = word_.bits() - offset - bits;
  if (up > 0) word = ops.Shl(word, WordNumber(up));
  return bits == word_.bits() ? word : ops.Sar(word, WordNumber(word_.bits() - bits));
}

// The word with `bits` bits at an offset replaced by the low ones of `value`.
Value QuantBits::Replace(Value word, uint32_t offset, uint32_t bits, Value shift, Value value) {
  const Ops ops{b_, loc_};
  if (bits == word_.bits()) return value;  // nothing of the old word is left
  Value mask = WordNumber(Mask(bits));
  Value up = WordNumber(offset);
  if (shift) up = offset == 0 ? shift : ops.Add(shift, up);
  if (shift || offset != 0) mask = ops.Shl(mask, up);
  if (shift || offset != 0) value = ops.Shl(value, up);
  Value keep = b_.createOrFold<arith::XOrIOp>(loc_, mask, WordNumber(~uint64_t{0}));
  return ops.Or(ops.And(word, keep), ops.And(value, mask));
}

// --- Reading -----------------------------------------------------------------------

Value QuantBits::Read(Value word, const proto::QuantNumber& number, Value shift) {
  const proto::QuantType& quant = number.quant();
  switch (quant.kind()) {
    case proto::QuantType::QUANT_INT: {
      Value digits = ReadDigits(word, number, shift);
      if (compute_ == proto::U1) {
        const Ops ops{b_, loc_};
        return ops.Compare(arith::CmpIPredicate::ne, digits, WordNumber(0));
      }
      return Resized(digits, static_cast<unsigned>(ScalarBits(compute_)), quant.is_signed());
    }
    // The scale was chosen in the layout; the digits count multiples of it.
    case proto::QuantType::QUANT_FIXED: {
      Value digits = Resized(ReadDigits(word, number, shift), 32, quant.is_signed());
      mlir::Type type = ValueType(b_.getContext(), compute_);
      Value real = quant.is_signed() || quant.bits() < 32
                       ? b_.createOrFold<arith::SIToFPOp>(loc_, type, digits)
                       : b_.createOrFold<arith::UIToFPOp>(loc_, type, digits);
      Value scale = EmitNumber(b_, loc_, compute_, quant.scale());
      return b_.create<arith::MulFOp>(loc_, real, scale);
    }
    default: {
      Value exponent =
          Resized(Unsigned(word, number.exponent_offset(), quant.exponent_bits()), 32, false);
      Value digits = Resized(Unsigned(word, number.bit_offset(), quant.bits()), 32, false);
      Value bits = number.shared_exponent() ? WidenShared(exponent, digits, quant)
                                            : Widen(exponent, digits, quant);
      return b_.createOrFold<arith::BitcastOp>(loc_, b_.getF32Type(), bits);
    }
  }
}

// A float with an exponent of its own, as bits of an f32. Exponent 0 is zero: there are no
// denormals.
Value QuantBits::Widen(Value exponent, Value digits, const proto::QuantType& quant) {
  const Ops ops{b_, loc_};
  const uint32_t bits = DigitBits(quant);
  Value biased = ops.Shl(ops.Add(exponent, Int32(Bias(quant))), Int32(kFractionBits));
  Value fraction = ops.Shl(ops.And(digits, Int32(Mask32(bits))), Int32(kFractionBits - bits));
  Value is_zero = ops.Compare(arith::CmpIPredicate::eq, exponent, Int32(0));
  Value number = ops.Select(is_zero, Int32(0), ops.Or(biased, fraction));
  if (!quant.is_signed()) return number;
  // The sign bit, moved from above the digits to the top of the f32.
  return ops.Or(number, ops.Shl(ops.Shr(digits, Int32(bits)), Int32(31)));
}

// The same with a shared exponent. The digits have their leading one somewhere below the top: it is
// shifted out, and the exponent lowered by as much.
Value QuantBits::WidenShared(Value exponent, Value digits, const proto::QuantType& quant) {
  const Ops ops{b_, loc_};
  const uint32_t bits = DigitBits(quant);
  Value magnitude = ops.And(digits, Int32(Mask32(bits)));
  Value zeros = b_.create<mlir::math::CountLeadingZerosOp>(loc_, magnitude);
  // At most 31, as no shift is longer. A magnitude of zero has no leading one; see below.
  Value up = ops.Min(ops.Sub(zeros, Int32(32 - bits)), Int32(31));
  Value biased = ops.Add(exponent, Int32(Bias(quant)));
  Value fraction = ops.And(ops.Shl(ops.Shl(magnitude, up), Int32(kFractionBits + 1 - bits)),
                           Int32(kLeadingOne - 1));
  Value number = ops.Or(ops.Shl(ops.Sub(biased, up), Int32(kFractionBits)), fraction);
  if (quant.is_signed()) {
    number = ops.Or(number, ops.Shl(ops.Shr(digits, Int32(bits)), Int32(31)));
  }
  Value nothing = ops.Or(ops.Compare(arith::CmpIPredicate::eq, exponent, Int32(0)),
                         ops.Compare(arith::CmpIPredicate::eq, magnitude, Int32(0)));
  nothing = ops.Or(nothing, ops.Compare(arith::CmpIPredicate::ule, biased, up));
  return ops.Select(nothing, Int32(0), number);
}

// --- Writing -----------------------------------------------------------------------

QuantBits::Digits QuantBits::Encode(const proto::QuantNumber& number, Value value) {
  // Its digits depend on the other numbers of the group, so WriteShared makes them.
  if (number.shared_exponent()) return {};
  switch (number.quant().kind()) {
    case proto::QuantType::QUANT_INT:
      return {Resized(value, word_.bits(), IsSignedInt(compute_)), {}};
    case proto::QuantType::QUANT_FIXED:
      return {EncodeFixed(number, value), {}};
    default:
      return Narrow(value, number.quant());
  }
}

// value / scale, rounded half away from zero. What no i32 holds is written as 0; for unsigned
// digits of 32 bits, what no i64 holds.
Value QuantBits::EncodeFixed(const proto::QuantNumber& number, Value value) {
  const proto::QuantType& quant = number.quant();
  Value factor = EmitNumber(b_, loc_, compute_, 1.0 / quant.scale());
  Value scaled = b_.create<arith::MulFOp>(loc_, value, factor);
  // Half away from zero: added with the number's own sign, then truncated by the cast.
  Value half = b_.create<mlir::math::CopySignOp>(loc_, EmitNumber(b_, loc_, compute_, 0.5), scaled);
  Value rounded = b_.create<arith::AddFOp>(loc_, scaled, half);
  const bool wide = !quant.is_signed() && quant.bits() == 32;
  Value limit = EmitNumber(b_, loc_, compute_, wide ? 0x1p63 : 0x1p31);
  Value size = b_.create<mlir::math::AbsFOp>(loc_, rounded);
  Value fits = b_.create<arith::CmpFOp>(loc_, arith::CmpFPredicate::OLT, size, limit);
  // The cast of a number that does not fit is undefined in LLVM: it must not see one. A NaN fits
  // nowhere, since the comparison is ordered.
  Value kept = b_.create<arith::SelectOp>(loc_, fits, rounded, EmitNumber(b_, loc_, compute_, 0));
  Value digits = b_.create<arith::FPToSIOp>(loc_, b_.getIntegerType(wide ? 64 : 32), kept);
  return Resized(digits, word_.bits(), true);
}

// The digits and exponent of an f32. Rounding adds half of the last digit kept and may carry into
// the exponent, as it should. Too large numbers become the largest one, too small ones zero.
QuantBits::Digits QuantBits::Narrow(Value value, const proto::QuantType& quant) {
  const Ops ops{b_, loc_};
  const uint32_t bits = DigitBits(quant);
  Value f32 = b_.createOrFold<arith::BitcastOp>(loc_, b_.getI32Type(), value);
  // Without the sign, which is put back at the end.
  Value rounded = ops.And(f32, Int32(0x7fffffff));
  if (bits < kFractionBits) rounded = ops.Add(rounded, Int32(1u << (kFractionBits - 1 - bits)));
  Value exponent = ops.Shr(rounded, Int32(kFractionBits));
  Value fraction = ops.Shr(ops.And(rounded, Int32(kLeadingOne - 1)), Int32(kFractionBits - bits));
  const uint32_t largest = Mask32(quant.exponent_bits());
  // Where a number is too small, the subtraction below wraps; the last selects replace the result.
  Value over = ops.Compare(arith::CmpIPredicate::ugt, exponent, Int32(Bias(quant) + largest));
  Value under = ops.Compare(arith::CmpIPredicate::ule, exponent, Int32(Bias(quant)));
  exponent = ops.Select(over, Int32(largest), ops.Sub(exponent, Int32(Bias(quant))));
  fraction = ops.Select(over, Int32(Mask32(bits)), fraction);
  if (quant.is_signed()) {
    fraction = ops.Or(fraction, ops.Shl(ops.Shr(f32, Int32(31)), Int32(bits)));
  }
  exponent = ops.Select(under, Int32(0), exponent);
  fraction = ops.Select(under, Int32(0), fraction);
  return {Resized(fraction, word_.bits(), false), Resized(exponent, word_.bits(), false)};
}

Value QuantBits::Insert(Value word, const proto::QuantNumber& number, Value shift,
                        const Digits& digits) {
  const proto::QuantType& quant = number.quant();
  if (digits.exponent) {
    word = Replace(word, number.exponent_offset(), quant.exponent_bits(), {}, digits.exponent);
  }
  return Replace(word, number.bit_offset(), quant.bits(), shift, digits.digits);
}

// The digits of `f32`, bits of a float, beside an exponent in the word that means `exponent` of a
// float. The leading one is explicit, as digits of numbers below the largest begin with zeros:
// rounded, at most all ones, and zero for zeros and denormals.
Value QuantBits::NarrowShared(Value f32, Value exponent, const proto::QuantType& quant) {
  const Ops ops{b_, loc_};
  const uint32_t bits = DigitBits(quant);
  // The larger the number's own exponent, the fewer zeros its digits begin with.
  Value own = ops.And(ops.Shr(f32, Int32(kFractionBits)), Int32(0xff));
  Value down = ops.Min(ops.Sub(exponent, own), Int32(31));
  Value magnitude = ops.Or(ops.And(f32, Int32(kLeadingOne - 1)), Int32(kLeadingOne));
  magnitude = ops.Shr(magnitude, down);
  const uint32_t rest = kFractionBits + 1 - bits;
  if (rest > 0) {
    magnitude = ops.Add(magnitude, Int32(1u << (rest - 1)));
    magnitude = ops.Shr(ops.Min(magnitude, Int32(2 * kLeadingOne - 1)), Int32(rest));
  }
  // The number is larger than the group's exponent can express: the largest digits.
  Value over = ops.Compare(arith::CmpIPredicate::ugt, own, exponent);
  magnitude = ops.Select(over, Int32(Mask32(bits)), magnitude);
  Value nothing = ops.Compare(arith::CmpIPredicate::eq, own, Int32(0));
  magnitude = ops.Select(nothing, Int32(0), magnitude);
  if (!quant.is_signed()) return magnitude;
  Value is_zero = ops.Compare(arith::CmpIPredicate::eq, magnitude, Int32(0));
  Value sign = ops.Shl(ops.Shr(f32, Int32(31)), Int32(bits));
  return ops.Or(magnitude, ops.Select(is_zero, Int32(0), sign));
}

Value QuantBits::Write(Value word, llvm::ArrayRef<Written> written, llvm::ArrayRef<Digits> digits,
                       Value shift) {
  llvm::SmallVector<uint32_t> done;  // exponents, by their offset
  for (size_t i = 0; i < written.size(); ++i) {
    const proto::QuantNumber& number = *written[i].first;
    if (!number.shared_exponent()) {
      word = Insert(word, number, shift, digits[i]);
      continue;
    }
    const uint32_t exponent = number.exponent_offset();
    if (llvm::is_contained(done, exponent))
      continue;  // written with an earlier number of its group
    done.push_back(exponent);
    llvm::SmallVector<Written> group;
    for (const Written& one : written) {
      const bool is_member =
          one.first->shared_exponent() && one.first->exponent_offset() == exponent;
      if (is_member) group.push_back(one);
    }
    word = WriteShared(word, group);
  }
  return word;
}

// The word after some numbers of one group took new values. The exponent is the largest that any
// number of the group has, so the others' digits change with it:
//
//   read every number of the group, or take its new value, as f32
//   exponent = max of their exponents, at most the largest that the word can hold
//   write the exponent, and each number's digits measured by it
Value QuantBits::WriteShared(Value word, llvm::ArrayRef<Written> written) {
  const Ops ops{b_, loc_};
  const proto::QuantNumber& first = *written.front().first;
  const proto::QuantType& type = first.quant();
  Value old = Resized(Unsigned(word, first.exponent_offset(), type.exponent_bits()), 32, false);
  llvm::SmallVector<std::pair<const proto::QuantNumber*, Value>> numbers;
  Value highest = Int32(0);
  for (const proto::QuantNumber& number : word_.sharers()) {
    if (number.exponent_offset() != first.exponent_offset()) continue;
    Value f32;
    for (const Written& one : written) {
      if (one.first->bit_offset() != number.bit_offset()) continue;
      f32 = b_.createOrFold<arith::BitcastOp>(loc_, b_.getI32Type(), one.second);
    }
    if (!f32) {
      Value digits = Resized(Unsigned(word, number.bit_offset(), number.quant().bits()), 32, false);
      f32 = WidenShared(old, digits, number.quant());
    }
    numbers.emplace_back(&number, f32);
    highest = ops.Max(highest, ops.And(ops.Shr(f32, Int32(kFractionBits)), Int32(0xff)));
  }
  const uint32_t bias = Bias(type);
  Value none = ops.Compare(arith::CmpIPredicate::ule, highest, Int32(bias));
  Value exponent = ops.Min(highest, Int32(bias + Mask32(type.exponent_bits())));
  Value stored = ops.Select(none, Int32(0), ops.Sub(exponent, Int32(bias)));
  word = Replace(word, first.exponent_offset(), type.exponent_bits(), {},
                 Resized(stored, word_.bits(), false));
  for (const auto& [number, f32] : numbers) {
    Value digits = ops.Select(none, Int32(0), NarrowShared(f32, exponent, number->quant()));
    word = Replace(word, number->bit_offset(), number->quant().bits(), {},
                   Resized(digits, word_.bits(), false));
  }
  return word;
}

}  // namespace kiln
