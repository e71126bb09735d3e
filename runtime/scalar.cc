#include "runtime/scalar.h"

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

template <typename T>
T Read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
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

int ScalarSizeInBits(SlotScalar scalar) {
  if (scalar == SlotScalar::kU1) return 1;
  return static_cast<int>(8 * ScalarBytesOf(static_cast<uint32_t>(scalar)));
}

float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  uint32_t fraction = half & 0x3ff;
  uint32_t bits;
  if (exponent == 0x1f) {
    bits = sign | 0x7f800000u | (fraction << 13);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112) << 23) | (fraction << 13);
  } else {
    const float tiny = static_cast<float>(fraction) * (1.0f / 16777216.0f);  // 2**-24
    return sign != 0 ? -tiny : tiny;
  }
  return Read<float>(&bits);
}

uint16_t FloatToHalf(float value) {
  const uint32_t bits = Read<uint32_t>(&value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 65536 and more, infinity
  if (magnitude < 0x38800000) {                       // subnormal in half
    // Adding 0.5 puts the half's unit in the last place of the float: the
    // hardware rounds.
    const float shifted = Read<float>(&magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(Read<uint32_t>(&shifted) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
  return sign | static_cast<uint16_t>(rounded >> 13);  // carries into infinity
}

double ReadDouble(SlotScalar scalar, const void* address) {
  switch (scalar) {
    case SlotScalar::kF16:
      return HalfToFloat(Read<uint16_t>(address));
    case SlotScalar::kF32:
      return Read<float>(address);
    case SlotScalar::kF64:
      return Read<double>(address);
    case SlotScalar::kU64:
      return static_cast<double>(Read<uint64_t>(address));
    default:
      return static_cast<double>(ReadInt(scalar, address));
  }
}

int64_t ReadInt(SlotScalar scalar, const void* address) {
  switch (scalar) {
    case SlotScalar::kU1:
      return Read<uint8_t>(address) != 0;
    case SlotScalar::kI8:
      return Read<int8_t>(address);
    case SlotScalar::kI16:
      return Read<int16_t>(address);
    case SlotScalar::kI32:
      return Read<int32_t>(address);
    case SlotScalar::kI64:
      return Read<int64_t>(address);
    case SlotScalar::kU8:
      return Read<uint8_t>(address);
    case SlotScalar::kU16:
      return Read<uint16_t>(address);
    case SlotScalar::kU32:
      return Read<uint32_t>(address);
    case SlotScalar::kU64:
      return static_cast<int64_t>(Read<uint64_t>(address));
    default:
      return 0;
  }
}

}  // namespace kiln
