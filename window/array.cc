#include "window/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kiln::window {
namespace {

// Half precision, as memory holds it.
struct Half {
  uint16_t bits;
};

float ToFloat(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half.bits & 0x7fff) << 13;
  // Move the exponent from bias 15 to bias 127 by a product, which also normalises subnormals.
  float value;
  std::memcpy(&value, &magnitude, sizeof(value));
  value *= 0x1p112F;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((half.bits & 0x7c00) == 0x7c00) bits |= 0x7f800000;  // infinities and NaNs
  bits |= sign;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename T>
float ToFloat(T value) {
  return static_cast<float>(value);
}

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));  // strides may be odd
  return value;
}

// Calls `f` with a value of the array's type.
template <typename F>
void Dispatch(Number number, F&& f) {
  switch (number) {
    case Number::kI8:
      return f(int8_t{});
    case Number::kU8:
      return f(uint8_t{});
    case Number::kI16:
      return f(int16_t{});
    case Number::kU16:
      return f(uint16_t{});
    case Number::kI32:
      return f(int32_t{});
    case Number::kU32:
      return f(uint32_t{});
    case Number::kI64:
      return f(int64_t{});
    case Number::kU64:
      return f(uint64_t{});
    case Number::kF16:
      return f(Half{});
    case Number::kF32:
      return f(float{});
    case Number::kF64:
      return f(double{});
  }
}

template <typename T>
[[gnu::always_inline]] inline uint8_t ToByte(T value) {
  if constexpr (std::is_integral_v<T>) {
    // The nearest of 256 levels.
    constexpr double kTop = std::numeric_limits<std::make_unsigned_t<T>>::max();
    if constexpr (sizeof(T) == 1) return static_cast<uint8_t>(value);
    const double share = static_cast<double>(static_cast<std::make_unsigned_t<T>>(value)) / kTop;
    return static_cast<uint8_t>(std::lround(share * 255));
  } else {
    const float scaled = ToFloat(value) * 255.0F + 0.5F;
    // In this order, the comparisons are false for NaNs. The compiler makes vector code of them.
    const float low = scaled > 0.0F ? scaled : 0.0F;
    return static_cast<uint8_t>(static_cast<int32_t>(low < 255.0F ? low : 255.0F));
  }
}

constexpr int kBlock = 512;  // pixels that are converted at a time, in the first level of cache

// Converts `count` components, which follow each other in memory. The compiler makes vector code of
// it.
template <typename T>
[[gnu::always_inline]] inline void ToBytes(const char* from, int64_t count,
                                           uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = ToByte(Load<T>(from + i * sizeof(T)));
}

// Spreads pixels of kComponents bytes to four bytes. `from` must have a byte more than that.
template <int kComponents>
[[gnu::always_inline]] inline void Spread(const uint8_t* from, int64_t count,
                                          uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) {
    uint8_t rgba[4] = {from[i * kComponents], 0, 0, 255};
    if constexpr (kComponents == 1) rgba[1] = rgba[2] = rgba[0];
    if constexpr (kComponents == 2) rgba[1] = from[2 * i + 1];
    if constexpr (kComponents >= 3) {
      std::memcpy(rgba, from + i * kComponents, 4);  // one load; of three components, one too many
      rgba[3] = 255;
    }
    std::memcpy(to + 4 * i, rgba, 4);
  }
}

// To be inlined, so that the functions that call it compile it for their processors.
template <typename T, int kComponents>
[[gnu::always_inline]] inline void CopyPixels(const Array& from, uint8_t* to) {
  const int64_t component_stride = from.axes == 3 ? from.strides[2] : sizeof(T);
  const bool dense = component_stride == sizeof(T) && from.strides[1] == kComponents * sizeof(T);
  T gathered[kBlock * kComponents];
  uint8_t bytes[kBlock * kComponents + 1];
  const int64_t height = from.extents[1];
  for (int64_t i = 0; i < from.extents[0]; ++i) {
    const char* column = static_cast<const char*>(from.data) + i * from.strides[0];
    for (int64_t j = 0; j < height; j += kBlock) {
      const int64_t count = std::min<int64_t>(kBlock, height - j);
      const char* block = column + j * from.strides[1];
      if (!dense) {
        for (int64_t k = 0; k < count * kComponents; ++k) {
          gathered[k] = Load<T>(block + k / kComponents * from.strides[1] +
                                k % kComponents * component_stride);
        }
        block = reinterpret_cast<const char*>(gathered);
      }
      ToBytes<T>(block, count * kComponents, bytes);
      Spread<kComponents>(bytes, count, to + 4 * (i * height + j));
    }
  }
}

#ifdef __x86_64__
// With AVX2, the conversion takes two thirds of the time.
template <typename T, int kComponents>
[[gnu::target("avx2")]] void CopyImageByAvx2(const Array& from, uint8_t* to) {
  CopyPixels<T, kComponents>(from, to);
}
#endif

template <typename T, int kComponents>
void CopyImageOf(const Array& from, uint8_t* to) {
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return CopyImageByAvx2<T, kComponents>(from, to);
#endif
  CopyPixels<T, kComponents>(from, to);
}

}  // namespace

void CopyFloats(const Array& from, int64_t first, int64_t count, int components, float* to) {
  const int present = from.axes < 2 ? 1 : static_cast<int>(from.extents[1]);
  const int64_t step = from.axes < 2 ? 0 : from.strides[1];
  const char* start = static_cast<const char*>(from.data) + first * from.strides[0];
  if (from.number == Number::kF32 && present == components &&
      from.strides[0] == static_cast<int64_t>(sizeof(float)) * components &&
      (components == 1 || step == sizeof(float))) {
    std::memcpy(to, start, count * components * sizeof(float));
    return;
  }
  Dispatch(from.number, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < count; ++i) {
      const char* row = start + i * from.strides[0];
      for (int c = 0; c < components; ++c) {
        *to++ = c < present ? ToFloat(Load<T>(row + c * step)) : (c == 3 ? 1.0F : 0.0F);
      }
    }
  });
}

int64_t CopyIndices(const Array& from, int64_t first, int64_t count, uint32_t* to) {
  const int64_t inner = from.axes < 2 ? 1 : from.extents[1];
  int64_t largest = -1;
  Dispatch(from.number, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = first; i < first + count; ++i) {
        const char* at = static_cast<const char*>(from.data) + (i / inner) * from.strides[0] +
                         (from.axes < 2 ? 0 : (i % inner) * from.strides[1]);
        const T value = Load<T>(at);
        const auto wide = static_cast<uint64_t>(static_cast<int64_t>(value));
        largest = std::max<int64_t>(largest, static_cast<int64_t>(std::min<uint64_t>(
                                                 wide, std::numeric_limits<int64_t>::max())));
        *to++ = static_cast<uint32_t>(wide);
      }
    }
  });
  return largest;
}

void CopyImage(const Array& from, uint8_t* to) {
  const int64_t components = from.axes < 3 ? 1 : from.extents[2];
  Dispatch(from.number, [&](auto type) {
    using T = decltype(type);
    switch (components) {
      case 1:
        return CopyImageOf<T, 1>(from, to);
      case 2:
        return CopyImageOf<T, 2>(from, to);
      case 3:
        return CopyImageOf<T, 3>(from, to);
      default:
        return CopyImageOf<T, 4>(from, to);
    }
  });
}

}  // namespace kiln::window
