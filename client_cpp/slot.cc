#include "client_cpp/slot.h"

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

template <typename From>
// A slot has the bits of the parameter's type, not a number that each kernel would have to convert.
uint64_t Convert(proto::Scalar type, From value) {
  switch (type) {
    case proto::U1:
      return value != 0 ? 1 : 0;
    case proto::I8:
      return Bits<int8_t>(value);
    case proto::I16:
      return Bits<int16_t>(value);
    case proto::I32:
      return Bits<int32_t>(value);
    case proto::I64:
      return Bits<int64_t>(value);
    case proto::U8:
      return Bits<uint8_t>(value);
    case proto::U16:
      return Bits<uint16_t>(value);
    case proto::U32:
      return Bits<uint32_t>(value);
    case proto::U64:
      return Bits<uint64_t>(value);
    case proto::F16:
      // Through f32, as the compiler converts in kernels.
      return Bits<_Float16>(static_cast<float>(value));
    case proto::F32:
      return Bits<float>(value);
    case proto::F64:
      return Bits<double>(value);
    default:
      return 0;
  }
}

}  // namespace

uint64_t SlotOf(proto::Scalar type, double value) { return Convert(type, value); }
uint64_t SlotOf(proto::Scalar type, int64_t value) { return Convert(type, value); }
uint64_t SlotOf(proto::Scalar type, uint64_t value) { return Convert(type, value); }

}  // namespace kiln
