// Scalars of the language in memory and in slots, read as C++ numbers.
#ifndef KILN_RUNTIME_SCALAR_H_
#define KILN_RUNTIME_SCALAR_H_

#include <cstdint>

namespace kiln {

// The numbers of proto::Scalar, as ArgumentSlot.scalar and KernelInfo.results hold them.
enum class SlotScalar : uint32_t {
  kNone = 0,
  kU1 = 1,
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
};

struct ScalarFacts {
  enum Kind : uint8_t { kBool, kSigned, kUnsigned, kFloat };
  SlotScalar number;
  const char* name;  // "f32"
  uint32_t bytes;    // in memory
  Kind kind;
};

// Null for numbers of no scalar.
const ScalarFacts* FindScalar(uint32_t number);
// 0 for numbers of no scalar.
uint32_t ScalarBytesOf(uint32_t number);

// The size of a value in bits, as counted by the language: 1 for u1, 0 for none.
int ScalarSizeInBits(SlotScalar scalar);

// The scalar at `address`, which may be unaligned. A slot's is at its first byte.
double ReadDouble(SlotScalar scalar, const void* address);
// The same for integers, sign- or zero-extended; 0 for floats.
int64_t ReadInt(SlotScalar scalar, const void* address);

float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);  // to nearest, ties to even

}  // namespace kiln

#endif  // KILN_RUNTIME_SCALAR_H_
