#include "runtime/slot.h"

#include <cstring>

namespace kiln {
namespace {

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

uint64_t SlotOf(uint32_t scalar, double value) { return Convert(scalar, value); }
uint64_t SlotOf(uint32_t scalar, int64_t value) { return Convert(scalar, value); }
uint64_t SlotOf(uint32_t scalar, uint64_t value) { return Convert(scalar, value); }

}  // namespace kiln
