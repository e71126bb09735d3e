// Arithmetic on f16 and bf16 through float: exact before the one rounding at the end, because float
// has more than twice their bits.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_HALF_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_HALF_H_

#include <cmath>
#include <cstdint>
#include <cstring>

namespace kiln::fake_cuda {

template <typename To, typename From>
inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// `value` as if it had infinitely many bits: rounded to odd where `error` is what it lacks, so that
// another rounding gives the right result.
inline double RoundedToOdd(double value, double error) {
  if (error == 0 || std::isnan(error) || std::isinf(value)) return value;
  if ((BitCast<uint64_t>(value) & 1) != 0) return value;
  return std::nextafter(value, error > 0 ? INFINITY : -INFINITY);
}

// To `mantissa` bits after the point and exponents from `least` to `most`, in the direction of
// `mode` (Rounding's numbers: to nearest even, toward zero, down, up). Results are exact in double.
inline double RoundTo(double value, int mantissa, int least, int most, unsigned mode) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = std::ilogb(value);
  if (exponent < least) exponent = least;
  const double unit = std::ldexp(1.0, exponent - mantissa);
  const double scaled = value / unit;
  double rounded = std::nearbyint(scaled);
  if (mode == 1) rounded = std::trunc(scaled);
  if (mode == 2) rounded = std::floor(scaled);
  if (mode == 3) rounded = std::ceil(scaled);
  rounded = std::copysign(rounded * unit, value);
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, -mantissa), most);
  if (std::fabs(rounded) <= largest) return rounded;
  const bool stays = mode == 1 || (mode == 2 && value > 0) || (mode == 3 && value < 0);
  return std::copysign(stays ? largest : INFINITY, value);
}

struct Half {
  uint16_t bits;

  static Half From(double value, unsigned mode = 0) {
    const double rounded = RoundTo(value, 10, -14, 15, mode);
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return {0x7fff};
    if (std::isinf(rounded)) return {static_cast<uint16_t>(sign | 0x7c00)};
    const double size = std::fabs(rounded);
    if (size < std::ldexp(1.0, -14)) {
      return {static_cast<uint16_t>(sign | static_cast<uint16_t>(size * 16777216.0))};
    }
    const int exponent = std::ilogb(size);
    const auto mantissa = static_cast<uint16_t>((std::ldexp(size, -exponent) - 1) * 1024);
    return {static_cast<uint16_t>(sign | (exponent + 15) << 10 | mantissa)};
  }
  float Value() const {
    const int exponent = bits >> 10 & 31;
    const int mantissa = bits & 1023;
    float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                               : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    if (exponent == 31) size = mantissa != 0 ? NAN : INFINITY;
    return (bits & 0x8000) != 0 ? -size : size;
  }
};

struct Bfloat {
  uint16_t bits;

  static Bfloat From(double value, unsigned mode = 0) {
    if (std::isnan(value)) return {0x7fff};
    const auto rounded = static_cast<float>(RoundTo(value, 7, -126, 127, mode));
    return {static_cast<uint16_t>(BitCast<uint32_t>(rounded) >> 16)};
  }
  float Value() const { return BitCast<float>(static_cast<uint32_t>(bits) << 16); }
};

template <typename H>
struct Pair {
  H x, y;
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_HALF_H_
