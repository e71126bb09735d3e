#include "common/layout/word_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kiln {
namespace {

constexpr uint32_t kFractionBits = 23;  // of f32
constexpr uint32_t kLeadingOne = 1u << kFractionBits;

// A shift by 64 is undefined.
uint64_t Mask(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

uint64_t Field(uint64_t word, uint32_t offset, uint32_t bits) {
  return word >> offset & Mask(bits);
}

uint64_t Replace(uint64_t word, uint32_t offset, uint32_t bits, uint64_t value) {
  const uint64_t mask = Mask(bits) << offset;
  return (word & ~mask) | ((value << offset) & mask);
}

int64_t SignExtend(uint64_t value, uint32_t bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

uint32_t Exponent(uint32_t f32) { return f32 >> kFractionBits & 0xff; }
uint32_t Largest(uint32_t exponent_bits) { return static_cast<uint32_t>(Mask(exponent_bits)); }
// The bias of f32's exponent.
uint32_t Bias(uint32_t exponent_bits) { return 128 - (1u << (exponent_bits - 1)); }

template <typename To, typename From>
To BitCast(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from));
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// A float with an exponent of its own, as (exponent, digits with the sign).
std::pair<uint32_t, uint32_t> Narrow(uint32_t f32, uint32_t exponent_bits, uint32_t digits,
                                     bool is_signed) {
  uint32_t rounded = f32 & 0x7fffffff;
  // Half of the last digit that is kept. A carry out of the fraction raises the exponent, as it
  // should.
  if (digits < kFractionBits) rounded += 1u << (kFractionBits - 1 - digits);
  const uint32_t bias = Bias(exponent_bits);
  uint32_t exponent = rounded >> kFractionBits;
  // Exponent 0 stands for zero: numbers too small for the format, and zero itself.
  if (exponent <= bias) return {0, 0};
  uint32_t fraction = (rounded & (kLeadingOne - 1)) >> (kFractionBits - digits);
  exponent -= bias;
  // The largest number instead of infinity, which the format lacks.
  if (exponent > Largest(exponent_bits)) {
    exponent = Largest(exponent_bits);
    fraction = static_cast<uint32_t>(Mask(digits));
  }
  if (is_signed) fraction |= f32 >> 31 << digits;
  return {exponent, fraction};
}

uint32_t Widen(uint32_t exponent, uint32_t fraction, uint32_t exponent_bits, uint32_t digits) {
  const uint32_t sign = fraction >> digits << 31;
  if (exponent == 0) return sign;
  fraction &= static_cast<uint32_t>(Mask(digits));
  return sign | (exponent + Bias(exponent_bits)) << kFractionBits |
         fraction << (kFractionBits - digits);
}

// A float with a shared exponent: the digits include the leading 1, which may be any of them.
uint32_t WidenShared(uint32_t exponent, uint32_t fraction, uint32_t exponent_bits,
                     uint32_t digits) {
  const uint32_t magnitude = fraction & static_cast<uint32_t>(Mask(digits));
  if (exponent == 0 || magnitude == 0) return 0;
  // How far the leading 1 is below the first digit; f32 has it implied, so the number is
  // normalised.
  const auto up = static_cast<uint32_t>(__builtin_clz(magnitude)) - (32 - digits);
  const uint32_t biased = exponent + Bias(exponent_bits);
  if (biased <= up) return 0;
  const uint32_t bits = magnitude << up << (kFractionBits + 1 - digits) & (kLeadingOne - 1);
  return fraction >> digits << 31 | (biased - up) << kFractionBits | bits;
}

// The digits of a float if the exponent in the word means f32's `exponent`.
uint32_t NarrowShared(uint32_t f32, uint32_t exponent, uint32_t digits, bool is_signed) {
  const uint32_t own = Exponent(f32);
  // Zeros and denormal numbers of f32 become 0.
  if (own == 0) return 0;
  const auto most = static_cast<uint32_t>(Mask(digits));
  // A number above the shared exponent is cut to the largest digits.
  uint32_t magnitude = most;
  if (own <= exponent) {
    const uint32_t down = exponent - own;
    magnitude = ((f32 & (kLeadingOne - 1)) | kLeadingOne) >> std::min(down, 31u);
    // The digits that do not fit. Rounding must not carry into another digit, hence the minimum.
    const uint32_t rest = kFractionBits + 1 - digits;
    if (rest > 0) magnitude = std::min(magnitude + (1u << (rest - 1)), 2 * kLeadingOne - 1);
    magnitude >>= rest;
  }
  // No negative zero: the word's bits would differ from a zero's.
  if (magnitude != 0 && is_signed) magnitude |= f32 >> 31 << digits;
  return magnitude;
}

}  // namespace

WordCodec::Number WordCodec::Resolve(const proto::QuantNumber& number) {
  const proto::QuantType& quant = number.quant();
  return {quant.kind(),  number.bit_offset(),      quant.bits(),          quant.is_signed(),
          quant.scale(), number.exponent_offset(), quant.exponent_bits(), number.shared_exponent()};
}

WordCodec::WordCodec(const proto::Word& word, Scalar compute)
    : bits_(word.bits()), compute_(compute) {
  for (const auto& number : word.components()) components_.push_back(Resolve(number));
  for (const auto& number : word.sharers()) sharers_.push_back(Resolve(number));
}

uint64_t WordCodec::ReadInt(uint64_t word, const Number& number, uint32_t shift) const {
  const uint64_t digits = Field(word, number.offset + shift, number.bits);
  if (compute_ == proto::U1) return digits != 0 ? 1 : 0;
  return number.is_signed ? static_cast<uint64_t>(SignExtend(digits, number.bits)) : digits;
}

uint64_t WordCodec::DecodeFixed(uint64_t word, const Number& number, uint32_t shift) const {
  const uint64_t digits = Field(word, number.offset + shift, number.bits);
  const int64_t integer =
      number.is_signed ? SignExtend(digits, number.bits) : static_cast<int64_t>(digits);
  if (compute_ == proto::F64) {
    return BitCast<uint64_t>(static_cast<double>(integer) * number.scale);
  }
  return BitCast<uint32_t>(static_cast<float>(integer) * static_cast<float>(number.scale));
}

uint64_t WordCodec::EncodeFixed(uint64_t value, const Number& number) const {
  double rounded;
  // In the type that kernels compute with, so that both round alike.
  if (compute_ == proto::F64) {
    // A product with the inverse, not a quotient: generated code multiplies, and they may differ by
    // a bit.
    const double scaled = BitCast<double>(value) * (1.0 / number.scale);
    rounded = scaled + std::copysign(0.5, scaled);
  } else {
    const float scaled =
        BitCast<float>(static_cast<uint32_t>(value)) * static_cast<float>(1.0 / number.scale);
    rounded = scaled + std::copysign(0.5F, scaled);
  }
  // Kernels convert to i32, and to i64 for 32 unsigned bits: values beyond its range, and NaN,
  // encode as 0. Of the rest the low bits are kept.
  const double limit = !number.is_signed && number.bits == 32 ? 0x1p63 : 0x1p31;
  if (!(std::fabs(rounded) < limit)) return 0;
  return static_cast<uint64_t>(static_cast<int64_t>(rounded));
}

// Encodes all numbers that share the exponent again, the written ones with their new values.
uint64_t WordCodec::EncodeShared(uint64_t word, const Written& written) const {
  const uint32_t bits = written[0].first->exponent_bits;
  const uint32_t at = written[0].first->exponent_offset;
  // The exponent may change with any of the numbers. Then all the others lose or gain digits.
  const auto old = static_cast<uint32_t>(Field(word, at, bits));
  Written numbers;
  uint32_t highest = 0;
  for (const Number& number : sharers_) {
    if (number.exponent_offset != at) continue;
    const auto digits = static_cast<uint32_t>(Field(word, number.offset, number.bits));
    uint32_t f32 = WidenShared(old, digits, bits, number.digits());
    for (const auto& [other, value] : written) {
      // Numbers of one word differ in their offset.
      if (other->offset == number.offset) f32 = value;
    }
    numbers.emplace_back(&number, f32);
    highest = std::max(highest, Exponent(f32));
  }
  const uint32_t bias = Bias(bits);
  const uint32_t exponent = highest <= bias ? 0 : std::min(highest - bias, Largest(bits));
  word = Replace(word, at, bits, exponent);
  for (const auto& [number, f32] : numbers) {
    const uint32_t digits =
        exponent == 0 ? 0 : NarrowShared(f32, exponent + bias, number->digits(), number->is_signed);
    word = Replace(word, number->offset, number->bits, digits);
  }
  return word;
}

uint64_t WordCodec::Read(uint64_t word, int component, uint32_t shift) const {
  const Number& number = components_[component];
  switch (number.kind) {
    case proto::QuantType::QUANT_INT:
      return ReadInt(word, number, shift);
    case proto::QuantType::QUANT_FIXED:
      return DecodeFixed(word, number, shift);
    default: {
      const auto exponent =
          static_cast<uint32_t>(Field(word, number.exponent_offset, number.exponent_bits));
      const auto digits = static_cast<uint32_t>(Field(word, number.offset, number.bits));
      return (number.shared ? WidenShared : Widen)(exponent, digits, number.exponent_bits,
                                                   number.digits());
    }
  }
}

uint64_t WordCodec::Write(uint64_t word, int component, uint32_t shift, uint64_t value) const {
  const Number& number = components_[component];
  switch (number.kind) {
    case proto::QuantType::QUANT_INT: {
      const auto bits = 8 * static_cast<uint32_t>(ScalarBytes(compute_));
      if (IsSignedInt(compute_)) value = static_cast<uint64_t>(SignExtend(value, bits));
      if (compute_ == proto::U1) value = (value & 0xff) != 0 ? 1 : 0;
      return Replace(word, number.offset + shift, number.bits, value);
    }
    case proto::QuantType::QUANT_FIXED:
      return Replace(word, number.offset + shift, number.bits, EncodeFixed(value, number));
    default: {
      const auto f32 = static_cast<uint32_t>(value);
      if (number.shared) return EncodeShared(word, {{&number, f32}});
      const auto [exponent, digits] =
          Narrow(f32, number.exponent_bits, number.digits(), number.is_signed);
      word = Replace(word, number.exponent_offset, number.exponent_bits, exponent);
      return Replace(word, number.offset, number.bits, digits);
    }
  }
}

uint64_t WordCodec::WriteAll(uint64_t word, uint32_t shift, const uint64_t* values) const {
  for (size_t c = 0; c < components_.size(); ++c) {
    const Number& number = components_[c];
    if (!number.shared) {
      word = Write(word, static_cast<int>(c), shift, values[c]);
      continue;
    }
    Written written;
    bool done = false;
    for (size_t other = 0; other < components_.size(); ++other) {
      const Number& same = components_[other];
      if (!same.shared || same.exponent_offset != number.exponent_offset) continue;
      // The first component of each group encodes the whole group.
      done = done || other < c;
      written.emplace_back(&same, static_cast<uint32_t>(values[other]));
    }
    if (!done) word = EncodeShared(word, written);
  }
  return word;
}

}  // namespace kiln
