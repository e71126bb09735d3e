#include "runtime/device_lib/device_lib.h"

namespace {

template <typename T>
T Power(T base, T exponent) {
  T result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

template <typename F>
F FloatPower(F base, int32_t exponent) {
  uint32_t rest = exponent < 0 ? 0u - static_cast<uint32_t>(exponent) : exponent;
  F result = 1;
  for (; rest != 0; rest >>= 1, base *= base) {
    if (rest & 1) result *= base;
  }
  return exponent < 0 ? 1 / result : result;
}

}  // namespace

void kiln_random_start(KilnRandom* stream, uint64_t launch, uint64_t task, uint64_t index) {
  const uint64_t mixed = (launch ^ (task * 0xd1342543de82ef95u)) * 0xff51afd7ed558ccdu;
  stream->key = mixed ^ (mixed >> 32);
  stream->counter = stream->key * 0xc4ceb9fe1a85ec53u + index * KILN_RANDOM_ITERATION_STEP;
}

uint64_t kiln_random_u64(KilnRandom* stream) {
  uint64_t z = stream->counter += KILN_RANDOM_NUMBER_STEP;
  z = (z ^ (z >> 30)) * KILN_RANDOM_FACTOR_1 ^ stream->key;
  z = (z ^ (z >> 27)) * KILN_RANDOM_FACTOR_2;
  return z ^ (z >> 31);
}

uint32_t kiln_random_u32(KilnRandom* stream) {
  return static_cast<uint32_t>(kiln_random_u64(stream) >> 32);
}

// Uses as many bits as the mantissa holds: rounding could turn the largest into 1.0.
float kiln_random_f32(KilnRandom* stream) {
  return static_cast<float>(static_cast<int32_t>(kiln_random_u64(stream) >> 40)) * 0x1p-24f;
}

double kiln_random_f64(KilnRandom* stream) {
  return static_cast<double>(static_cast<int64_t>(kiln_random_u64(stream) >> 11)) * 0x1p-53;
}

uint32_t kiln_pow_i32(uint32_t base, uint32_t exponent) { return Power(base, exponent); }
uint64_t kiln_pow_i64(uint64_t base, uint64_t exponent) { return Power(base, exponent); }
float kiln_powi_f32(float base, int32_t exponent) { return FloatPower(base, exponent); }
double kiln_powi_f64(double base, int32_t exponent) { return FloatPower(base, exponent); }

void kiln_atomic_add_f32(float* address, float number) {
  float old, sum;
  // Atomic as well: a compiler may read a plain float twice, and other threads write it meanwhile.
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    sum = old + number;
  } while (!__atomic_compare_exchange(address, &old, &sum, /*weak=*/true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
}

#ifdef KILN_BITCODE
// LLVM calls these for f16 on CPUs without F16C. Native programs get them from their compiler's
// runtime; artifacts must not depend on one.
namespace {

template <typename To, typename From>
To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// To nearest, ties to even.
uint16_t RoundToHalf(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 2^16 and above
  const int exponent = static_cast<int>(magnitude >> 23) - 112;
  uint32_t mantissa = (magnitude & 0x7fffff) | (magnitude >= 0x800000 ? 0x800000 : 0);
  // Denormal halves shift further; below half of the smallest the result is zero.
  const int shift = exponent > 0 ? 13 : 14 - exponent;
  if (shift > 25) return sign;
  const uint32_t kept = mantissa >> shift;
  const uint32_t lost = mantissa & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  const bool up = lost > half || (lost == half && (kept & 1));
  const uint32_t base = exponent > 0 ? static_cast<uint32_t>(exponent - 1) << 10 : 0;
  return sign | (base + kept + up);
}

}  // namespace

extern "C" {

float __extendhfsf2(_Float16 half) {
  const uint32_t bits = BitCast<uint16_t>(half);
  const uint32_t sign = (bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return BitCast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return BitCast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24f;
  return BitCast<float>(sign | BitCast<uint32_t>(small));
}

_Float16 __truncsfhf2(float number) {
  return BitCast<_Float16>(RoundToHalf(BitCast<uint32_t>(number)));
}

_Float16 __truncdfhf2(double number) {
  const uint64_t bits = BitCast<uint64_t>(number);
  // Rounds to odd first, so that only the second rounding takes effect.
  const float narrow = static_cast<float>(number);
  uint32_t narrow_bits = BitCast<uint32_t>(narrow);
  const double back = static_cast<double>(narrow);
  if (back != number && number == number) {
    const bool above = BitCast<uint64_t>(back) << 1 > bits << 1;
    if (above) --narrow_bits;
    narrow_bits |= 1;
  }
  return BitCast<_Float16>(RoundToHalf(narrow_bits));
}

}  // extern "C"
#endif  // KILN_BITCODE
