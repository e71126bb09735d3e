// Operations: conversions between types.
#include <cfloat>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/support/fake_cuda/half.h"
#include "tests/support/fake_cuda/lanes.h"
#include "tests/support/fake_cuda/operations.h"

namespace kiln::fake_cuda {
namespace {

// Instruction::flags beside those of floats: the result is an integral value.
constexpr uint32_t kIntegral = 16;

template <typename T>
constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                          std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

double FlushIf(float value, bool flush) {
  return flush && std::fabs(value) < FLT_MIN ? std::copysign(0.0f, value) : value;
}

double Integral(double value, uint32_t rounding) {
  switch (rounding) {
    case kTowardZero:
      return std::trunc(value);
    case kDown:
      return std::floor(value);
    case kUp:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

// Values beyond the type become its least or greatest one, NaN becomes 0 (of 64 bits: 1 << 63).
template <typename D>
D ToInteger(double value) {
  if (std::isnan(value)) return sizeof(D) == 8 ? static_cast<D>(uint64_t{1} << 63) : D{0};
  constexpr D least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
  if (value <= static_cast<double>(least)) return least;
  if (value >= static_cast<double>(most)) return most;
  return static_cast<D>(value);
}

template <typename D>
D FloatFrom(double value, uint32_t rounding) {
  if constexpr (std::is_same_v<D, double>) {
    return value;
  } else if constexpr (std::is_same_v<D, float>) {
    if (std::isnan(value)) return NAN;
    return rounding == kNearest ? static_cast<float>(value)
                                : static_cast<float>(RoundTo(value, 23, -126, 127, rounding));
  } else {
    return D::From(value, rounding);
  }
}

// 64-bit integers have more bits than double, so those below the lowest one are or-ed into it: the
// result rounds as the whole value does. Requires: the target has at most 24 bits.
template <typename A>
double Sticky(A value) {
  if (sizeof(A) < 8) return static_cast<double>(value);
  const bool negative = std::is_signed_v<A> && value < 0;
  uint64_t size = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (size >> 52 != 0) size = (size & ~uint64_t{0xfff}) | ((size & 0xfff) != 0 ? 0x1000 : 0);
  return negative ? -static_cast<double>(size) : static_cast<double>(size);
}

// NOLINTBEGIN(bugprone-signed-char-misuse): an s8 is a number.
template <typename A>
double ToDouble(A value, uint32_t rounding) {
  auto result = static_cast<double>(value);
  if (sizeof(A) < 8 || rounding == kNearest) return result;
  // Of the two neighbours of the value, the one in the direction.
  const auto back = static_cast<__int128>(result), exact = static_cast<__int128>(value);
  const bool down = rounding == kDown || (rounding == kTowardZero && value > 0);
  if (down && back > exact) result = std::nextafter(result, -INFINITY);
  if (!down && back < exact) result = std::nextafter(result, INFINITY);
  return result;
}

template <typename D, typename A>
D ConvertInteger(A a, uint32_t flags) {
  if ((flags & kSaturate) == 0) return static_cast<D>(a);
  const auto value = static_cast<__int128>(a);
  if (value < std::numeric_limits<D>::min()) return std::numeric_limits<D>::min();
  if (value > std::numeric_limits<D>::max()) return std::numeric_limits<D>::max();
  return static_cast<D>(a);
}

template <typename D, typename A>
D ConvertFloat(A a, uint32_t flags) {
  const uint32_t rounding = (flags & kRoundMask) >> kRoundShift;
  double value;
  if constexpr (std::is_same_v<A, float>) {
    value = FlushIf(a, (flags & kFlush) != 0);
  } else if constexpr (std::is_same_v<A, double>) {
    value = a;
  } else {
    value = a.Value();
  }
  if constexpr (!kIsFloat<D>) {
    return ToInteger<D>(Integral(value, rounding));
  } else {
    if ((flags & kIntegral) != 0) value = Integral(value, rounding);
    if ((flags & kSaturate) != 0) value = value > 0 ? std::fmin(value, 1.0) : 0.0;
    D result = FloatFrom<D>(value, (flags & kIntegral) != 0 ? uint32_t{kNearest} : rounding);
    if constexpr (std::is_same_v<D, float>) {
      if ((flags & kFlush) != 0) result = static_cast<float>(FlushIf(result, true));
    }
    return result;
  }
}

template <typename D, typename A>
void Convert(Warp& warp, const Instruction& in) {
  D* d = warp.At<D>(in.d);
  const A* a = warp.At<A>(in.s[0]);
  const uint32_t flags = in.flags;
  [[maybe_unused]] const uint32_t rounding = (flags & kRoundMask) >> kRoundShift;
  if constexpr (!kIsFloat<D> && !kIsFloat<A>) {
    if (flags == 0) {
      EachLane(warp.exec, [=](int lane) { d[lane] = static_cast<D>(a[lane]); });
    } else {
      EachLane(warp.exec, [=](int lane) { d[lane] = ConvertInteger<D>(a[lane], flags); });
    }
  } else if constexpr (kIsFloat<A>) {
    EachLane(warp.exec, [=](int lane) { d[lane] = ConvertFloat<D>(a[lane], flags); });
  } else {
    EachLane(warp.exec, [=](int lane) {
      double value;
      if constexpr (std::is_same_v<D, double>) {
        value = ToDouble(a[lane], rounding);
      } else {
        value = Sticky(a[lane]);
      }
      if ((flags & kSaturate) != 0) value = value > 0 ? std::fmin(value, 1.0) : 0.0;
      d[lane] = FloatFrom<D>(value, rounding);
    });
  }
}

template <typename D>
Handler FromType(Type from) {
#define KILN_RESULT(T) return Convert<D, T>
  KILN_FOR_INTEGERS(from, KILN_RESULT)
  switch (from) {
    case Type::kF16:
      KILN_RESULT(Half);
    case Type::kBf16:
      KILN_RESULT(Bfloat);
    case Type::kF32:
      KILN_RESULT(float);
    case Type::kF64:
      KILN_RESULT(double);
    default:
      return nullptr;
  }
#undef KILN_RESULT
}

Handler Converter(Type to, Type from) {
#define KILN_RESULT(T) return FromType<T>(from)
  KILN_FOR_INTEGERS(to, KILN_RESULT)
  switch (to) {
    case Type::kF16:
      KILN_RESULT(Half);
    case Type::kBf16:
      KILN_RESULT(Bfloat);
    case Type::kF32:
      KILN_RESULT(float);
    case Type::kF64:
      KILN_RESULT(double);
    default:
      return nullptr;
  }
#undef KILN_RESULT
}

// cvt.rn.f16x2.f32 d, a, b: a is the upper half.
template <typename H>
void PackHalves(Warp& warp, const Instruction& in) {
  const float *a = warp.At<float>(in.s[0]), *b = warp.At<float>(in.s[1]);
  const uint32_t rounding = (in.flags & kRoundMask) >> kRoundShift;
  EachLane(warp.exec, [&](int lane) {
    warp.At<Pair<H>>(in.d)[lane] = {H::From(b[lane], rounding), H::From(a[lane], rounding)};
  });
}

template <typename D, typename A>
void Resize(Warp& warp, const Instruction& in) {
  D* d = warp.At<D>(in.d);
  const A* a = warp.At<A>(in.s[0]);
  EachLane(warp.exec, [=](int lane) { d[lane] = static_cast<D>(a[lane]); });
}

// NOLINTEND(bugprone-signed-char-misuse)

template <int kParts>
void Combine(Warp& warp, const Instruction& in) {
  const uint32_t bytes = in.flags;
  EachLane(warp.exec, [&](int lane) {
    uint64_t value = 0;
    for (int n = 0; n < kParts; ++n) {
      uint64_t part = 0;
      std::memcpy(&part, warp.At<uint8_t>(in.s[n]) + lane * bytes, bytes);
      value |= part << (8 * bytes * n);
    }
    std::memcpy(warp.At<uint8_t>(in.d) + lane * bytes * kParts, &value, bytes * kParts);
  });
}

// `d2` is the whole's bytes.
void Part(Warp& warp, const Instruction& in) {
  const uint32_t bytes = in.flags;
  EachLane(warp.exec, [&](int lane) {
    std::memcpy(warp.At<uint8_t>(in.d) + lane * bytes,
                warp.At<uint8_t>(in.s[0]) + lane * in.d2 + in.offset * bytes, bytes);
  });
}

}  // namespace

Operation FindConvert(const Opcode& opcode) {
  const std::vector<Type> types = opcode.Types();
  if (opcode.name != "cvt" || types.size() != 2) return {};
  const Type to = types[0], from = types[1];
  uint32_t flags = opcode.Flags();
  if (opcode.Has("relu") || opcode.Has("satfinite")) return {};
  if (to == Type::kF16x2 || to == Type::kBf16x2) {
    return {to == Type::kF16x2 ? PackHalves<Half> : PackHalves<Bfloat>, to, {from, from}, flags};
  }
  if (opcode.Has("rni") || opcode.Has("rzi") || opcode.Has("rmi") || opcode.Has("rpi")) {
    flags |= kIntegral;
  }
  return {Converter(to, from), to, {from}, flags};
}

Handler FindResize(Type from, int to_bytes) {
#define KILN_RESULT(T)                                  \
  return to_bytes == 1   ? Handler(Resize<uint8_t, T>)  \
         : to_bytes == 2 ? Handler(Resize<uint16_t, T>) \
         : to_bytes == 4 ? Handler(Resize<uint32_t, T>) \
                         : Handler(Resize<uint64_t, T>)
  KILN_FOR_INTEGERS(from, KILN_RESULT)
#undef KILN_RESULT
  return nullptr;
}

Handler CombineHalves(int parts) { return parts == 2 ? Combine<2> : Combine<4>; }
Handler TakePart() { return Part; }

}  // namespace kiln::fake_cuda
