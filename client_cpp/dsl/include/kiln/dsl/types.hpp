// The types of values in kernels, as C++ types: numbers, Vec and Mat.
#ifndef KILN_DSL_TYPES_HPP_
#define KILN_DSL_TYPES_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/dsl/trace.hpp"

namespace kiln::dsl {

template <typename T, std::size_t N>
using Vec = std::array<T, N>;
template <typename T, std::size_t N, std::size_t M>
using Mat = std::array<std::array<T, M>, N>;  // by row

template <typename T>
constexpr kiln_dtype DtypeOf() {
  if constexpr (std::is_same_v<T, bool>) return KILN_U1;
  if constexpr (std::is_same_v<T, std::int8_t>) return KILN_I8;
  if constexpr (std::is_same_v<T, std::int16_t>) return KILN_I16;
  if constexpr (std::is_same_v<T, std::int32_t>) return KILN_I32;
  if constexpr (std::is_same_v<T, std::int64_t>) return KILN_I64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return KILN_U8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return KILN_U16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return KILN_U32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return KILN_U64;
  if constexpr (std::is_same_v<T, float>) return KILN_F32;
  if constexpr (std::is_same_v<T, double>) return KILN_F64;
  return KILN_NO_DTYPE;
}

template <typename T>
constexpr const char* NameOf() {
  constexpr const char* kNames[] = {"",    "u1",  "i8",  "i16", "i32", "i64", "u8",
                                    "u16", "u32", "u64", "f16", "f32", "f64"};
  return kNames[DtypeOf<T>()];
}

// Whether a number of C++ stays what it is as a T. Unsigned types take negative numbers of their
// width, as in C++: -1 is the largest one.
template <typename T, typename Number>
constexpr bool Holds(Number number) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (std::is_floating_point_v<Number> && sizeof(Number) > sizeof(T)) {
      const bool is_finite = number - number == 0;
      return !is_finite || (number <= Limits::max() && number >= Limits::lowest());
    }
    return true;
  } else if constexpr (std::is_same_v<Number, bool> || std::is_floating_point_v<Number>) {
    return true;
  } else if constexpr (std::is_signed_v<Number>) {
    constexpr bool kIsWide = sizeof(T) == sizeof(std::int64_t);
    const auto wide = static_cast<std::int64_t>(number);
    if constexpr (kIsWide) return true;
    if constexpr (std::is_signed_v<T>) {
      return wide >= std::int64_t{Limits::min()} && wide <= std::int64_t{Limits::max()};
    } else if constexpr (!kIsWide) {
      constexpr auto kMost = static_cast<std::int64_t>(Limits::max());
      return wide >= -(kMost / 2 + 1) && wide <= kMost;
    }
  } else {
    return static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(Limits::max());
  }
  return true;
}

// Scalar: of the numbers. Row: what one index gives. With<S>: the same shape of other numbers.
template <typename T>
struct Facts {
  static_assert(DtypeOf<T>() != KILN_NO_DTYPE,
                "no type of the language: a number, Vec, Mat, or a struct of KILN_STRUCT");
  using Scalar = T;
  template <typename S>
  using With = S;
  static constexpr ValueType kType = {DtypeOf<T>(), 0, 0};
  static constexpr bool kIsScalar = true;
  static constexpr std::uint32_t kCount = 1;
};
template <typename T, std::size_t N>
struct Facts<std::array<T, N>> {
  using Scalar = T;
  template <typename S>
  using With = std::array<S, N>;
  static constexpr ValueType kType = {DtypeOf<T>(), N, 0};
  static constexpr bool kIsScalar = false;
  static constexpr std::uint32_t kCount = N;
};
template <typename T, std::size_t N, std::size_t M>
struct Facts<std::array<std::array<T, M>, N>> {
  using Scalar = T;
  template <typename S>
  using With = std::array<std::array<S, M>, N>;
  static constexpr ValueType kType = {DtypeOf<T>(), N, M};
  static constexpr bool kIsScalar = false;
  static constexpr std::uint32_t kCount = N * M;
};
template <typename T>
using ScalarIn = typename Facts<T>::Scalar;

// The language's promotion: a float rather than an integer, then the wider type, then unsigned.
template <typename A, typename B>
constexpr auto PromotedScalar() {
  if constexpr (std::is_same_v<A, bool> && std::is_same_v<B, bool>) {
    return std::int32_t{};
  } else if constexpr (std::is_floating_point_v<A> != std::is_floating_point_v<B>) {
    return std::conditional_t<std::is_floating_point_v<A>, A, B>{};
  } else if constexpr (sizeof(A) != sizeof(B)) {
    return std::conditional_t<(sizeof(A) > sizeof(B)), A, B>{};
  } else if constexpr (std::is_same_v<A, bool> || std::is_same_v<B, bool>) {
    return std::conditional_t<std::is_same_v<A, bool>, B, A>{};
  } else {
    return std::conditional_t<std::is_unsigned_v<A>, A, B>{};
  }
}

// Of the shapes of two operands: a scalar takes the other's.
template <typename A, typename B>
constexpr bool kShapesFit =
    Facts<A>::kIsScalar || Facts<B>::kIsScalar ||
    std::is_same_v<typename Facts<A>::template With<bool>, typename Facts<B>::template With<bool>>;
template <typename A, typename B, typename S>
using Shaped =
    typename std::conditional_t<Facts<A>::kIsScalar, Facts<B>, Facts<A>>::template With<S>;

template <typename A, typename B>
using Promoted = Shaped<A, B, decltype(PromotedScalar<ScalarIn<A>, ScalarIn<B>>())>;
template <typename A>
using FloatOf = typename Facts<A>::template With<
    std::conditional_t<std::is_floating_point_v<ScalarIn<A>>, ScalarIn<A>, float>>;

}  // namespace kiln::dsl

#endif  // KILN_DSL_TYPES_HPP_
