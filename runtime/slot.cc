#include "runtime/slot.h"

#include <cstring>
#include <iterator>

namespace kiln {
namespace {

constexpr ScalarFacts kScalars[] = {
    {SlotScalar::kU1, "u1", 1, ScalarFacts::kBool},
    {SlotScalar::kI8, "i8", 1, ScalarFacts::kSigned},
    {SlotScalar::kI16, "i16", 2, ScalarFacts::kSigned},
    {SlotScalar::kI32, "i32", 4, ScalarFacts::kSigned},
    {SlotScalar::kI64, "i64", 8, ScalarFacts::kSigned},
    {SlotScalar::kU8, "u8", 1, ScalarFacts::kUnsigned},
    {SlotScalar::kU16, "u16", 2, ScalarFacts::kUnsigned},
    {SlotScalar::kU32, "u32", 4, ScalarFacts::kUnsigned},
    {SlotScalar::kU64, "u64", 8, ScalarFacts::kUnsigned},
    {SlotScalar::kF16, "f16", 2, ScalarFacts::kFloat},
    {SlotScalar::kF32, "f32", 4, ScalarFacts::kFloat},
    {SlotScalar::kF64, "f64", 8, ScalarFacts::kFloat},
};

template <typename To, typename From>
uint64_t Bits(From value) {
  // Kernels read as many low bytes as the type has.
  To converted = static_cast<To>(value);
  uint64_t slot = 0;
  std::memcpy(&slot, &converted, sizeof converted);
  return slot;
}

// A slot has the bits of the parameter's type, not a number that each kernel would have to convert.
template <typename From>
uint64_t Convert(uint32_t scalar, From value) {
  switch (static_cast<SlotScalar>(scalar)) {
    case SlotScalar::kU1:
      return value != 0 ? 1 : 0;
    case SlotScalar::kI8:
      return Bits<int8_t>(value);
    case SlotScalar::kI16:
      return Bits<int16_t>(value);
    case SlotScalar::kI32:
      return Bits<int32_t>(value);
    case SlotScalar::kI64:
      return Bits<int64_t>(value);
    case SlotScalar::kU8:
      return Bits<uint8_t>(value);
    case SlotScalar::kU16:
      return Bits<uint16_t>(value);
    case SlotScalar::kU32:
      return Bits<uint32_t>(value);
    case SlotScalar::kU64:
      return Bits<uint64_t>(value);
    case SlotScalar::kF16:
      // Through f32, as the compiler converts in kernels.
      return Bits<_Float16>(static_cast<float>(value));
    case SlotScalar::kF32:
      return Bits<float>(value);
    case SlotScalar::kF64:
      return Bits<double>(value);
    default:
      return 0;
  }
}

}  // namespace

const ScalarFacts* FindScalar(uint32_t number) {
  // In the order of the numbers, from 1.
  return number >= 1 && number <= std::size(kScalars) ? &kScalars[number - 1] : nullptr;
}

uint32_t ScalarBytesOf(uint32_t number) {
  const ScalarFacts* facts = FindScalar(number);
  return facts == nullptr ? 0 : facts->bytes;
}

uint64_t SlotOf(uint32_t scalar, double value) { return Convert(scalar, value); }
uint64_t SlotOf(uint32_t scalar, int64_t value) { return Convert(scalar, value); }
uint64_t SlotOf(uint32_t scalar, uint64_t value) { return Convert(scalar, value); }

}  // namespace kiln
