// What vectors and matrices have besides operators, in kernels.
#ifndef KILN_DSL_VECTORS_HPP_
#define KILN_DSL_VECTORS_HPP_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kiln/dsl/values.hpp"

namespace kiln::dsl {

namespace detail {
template <typename A>
constexpr bool kIsVector = false;
template <typename S, std::size_t N>
constexpr bool kIsVector<Vec<S, N>> = std::is_arithmetic_v<S> && !std::is_same_v<S, bool>;

template <typename A>
struct AsVector {
  static_assert(kNever<A>, "the operand is a vector");
};
template <typename S, std::size_t N>
struct AsVector<Vec<S, N>> {
  using Scalar = S;
  static constexpr std::int32_t kCount = N;
};

template <typename A>
struct Square {
  static_assert(kNever<A>, "the operand is a square matrix");
};
template <typename S, std::size_t N>
struct Square<Mat<S, N, N>> {
  using Scalar = S;
  static constexpr std::int32_t kSize = N;
};

template <typename A>
struct Transposed {
  static_assert(kNever<A>, "the operand is a matrix");
};
template <typename S, std::size_t N, std::size_t M>
struct Transposed<Mat<S, N, M>> {
  using Type = Mat<S, M, N>;
  static constexpr std::int32_t kRows = N, kColumns = M;
};
}  // namespace detail

// The sum of a vector's elements.
template <typename A>
auto Sum(const A& a) {
  using V = typename ValueIn<A>::Type;
  using S = ScalarIn<V>;
  static_assert(detail::kIsVector<V>, "the operand is a vector of numbers");
  const Expr<V> vector(a);
  NodeNumber sum = vector[0].node();
  for (std::uint32_t i = 1; i < Facts<V>::kCount; ++i) {
    sum = (Expr<S>(sum) + vector[static_cast<std::int32_t>(i)]).node();
  }
  return Expr<S>(sum);
}

// The inner product.
template <typename A, typename B>
auto Dot(const A& a, const B& b) {
  return Sum(Expr<typename ValueIn<A>::Type>(a) * Expr<typename ValueIn<B>::Type>(b));
}
template <typename A>
auto NormSqr(const A& a) {
  const Expr<typename ValueIn<A>::Type> once(a);
  return Dot(once, once);
}
// The length of a vector.
template <typename A>
auto Norm(const A& a) {
  return Sqrt(NormSqr(a));
}
// The vector of length 1 with the same direction; of zeros, NaNs.
template <typename A>
auto Normalized(const A& a) {
  const Expr<typename ValueIn<A>::Type> once(a);
  return once / Norm(once);
}

// Of two vectors of three numbers.
template <typename A, typename B>
auto Cross(const A& a, const B& b) {
  static_assert(Facts<typename ValueIn<A>::Type>::kCount == 3 &&
                    Facts<typename ValueIn<B>::Type>::kCount == 3 &&
                    detail::kIsVector<typename ValueIn<A>::Type> &&
                    detail::kIsVector<typename ValueIn<B>::Type>,
                "the operands are vectors of three numbers");
  const Expr<typename ValueIn<A>::Type> x(a);
  const Expr<typename ValueIn<B>::Type> y(b);
  using S = decltype(PromotedScalar<ScalarIn<typename ValueIn<A>::Type>,
                                    ScalarIn<typename ValueIn<B>::Type>>());
  return Vector<S>(x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]);
}

template <typename A>
auto Transpose(const A& a) {
  using T = detail::Transposed<typename ValueIn<A>::Type>;
  using R = typename T::Type;
  const Expr<typename ValueIn<A>::Type> matrix(a);
  std::vector<NodeNumber> elements;
  elements.reserve(Facts<R>::kCount);
  for (std::int32_t j = 0; j < T::kColumns; ++j) {
    for (std::int32_t i = 0; i < T::kRows; ++i) elements.push_back(matrix(i, j).node());
  }
  return Expr<R>(Trace::Current().Tensor(elements, Facts<R>::kType));
}

// The matrix whose element (i, j) is a[i] * b[j].
template <typename A, typename B>
auto Outer(const A& a, const B& b) {
  using U = detail::AsVector<typename ValueIn<A>::Type>;
  using V = detail::AsVector<typename ValueIn<B>::Type>;
  using S = decltype(PromotedScalar<typename U::Scalar, typename V::Scalar>());
  using R = Mat<S, U::kCount, V::kCount>;
  const Expr<typename ValueIn<A>::Type> rows(a);
  const Expr<typename ValueIn<B>::Type> columns(b);
  std::vector<NodeNumber> elements;
  elements.reserve(Facts<R>::kCount);
  for (std::int32_t i = 0; i < U::kCount; ++i) {
    for (std::int32_t j = 0; j < V::kCount; ++j) {
      elements.push_back((rows[i] * columns[j]).node());
    }
  }
  return Expr<R>(Trace::Current().Tensor(elements, Facts<R>::kType));
}

// The identity matrix of N rows: Identity<float, 3>().
template <typename S, std::size_t N>
auto Identity() {
  using R = Mat<S, N, N>;
  std::vector<NodeNumber> elements;
  elements.reserve(N * N);
  for (std::size_t i = 0; i < N * N; ++i) {
    elements.push_back(ValueOf<S>(i % (N + 1) == 0 ? 1 : 0).node());
  }
  return Expr<R>(Trace::Current().Tensor(elements, Facts<R>::kType));
}

// The sum of a square matrix's diagonal.
template <typename A>
auto TraceOf(const A& a) {
  using Q = detail::Square<typename ValueIn<A>::Type>;
  const Expr<typename ValueIn<A>::Type> m(a);
  NodeNumber sum = m(0, 0).node();
  for (std::int32_t i = 1; i < Q::kSize; ++i) {
    sum = (Expr<typename Q::Scalar>(sum) + m(i, i)).node();
  }
  return Expr<typename Q::Scalar>(sum);
}

namespace detail {

// The determinant of the elements of `m` in these rows and columns.
template <typename S, typename M>
Expr<S> Minor(const Expr<M>& m, const std::vector<std::int32_t>& rows,
              const std::vector<std::int32_t>& columns) {
  if (rows.size() == 1) return m(rows[0], columns[0]);
  const std::vector<std::int32_t> rest(columns.begin() + 1, columns.end());
  NodeNumber sum{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::int32_t> others = rows;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Expr<S> term = m(rows[i], columns[0]) * Minor<S>(m, others, rest);
    if (i == 0) {
      sum = term.node();
    } else {
      sum = i % 2 == 0 ? (Expr<S>(sum) + term).node() : (Expr<S>(sum) - term).node();
    }
  }
  return Expr<S>(sum);
}

// 0 to count - 1 without one number.
inline std::vector<std::int32_t> Without(std::int32_t left_out, std::int32_t count) {
  std::vector<std::int32_t> numbers;
  for (std::int32_t i = 0; i < count; ++i) {
    if (i != left_out) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace detail

// Of a square matrix of at most four rows.
template <typename A>
auto Determinant(const A& a) {
  using Q = detail::Square<typename ValueIn<A>::Type>;
  static_assert(Q::kSize <= 4, "a matrix of at most four rows");
  const std::vector<std::int32_t> all = detail::Without(-1, Q::kSize);
  return detail::Minor<typename Q::Scalar>(Expr<typename ValueIn<A>::Type>(a), all, all);
}

// Of a square matrix of at most four rows; of a singular one, infinities and NaNs.
template <typename A>
auto Inverse(const A& a) {
  using Q = detail::Square<typename ValueIn<A>::Type>;
  using S = typename Q::Scalar;
  static_assert(std::is_floating_point_v<S>, "a matrix of floats");
  static_assert(Q::kSize > 1 && Q::kSize <= 4, "a matrix of two to four rows");
  const Expr<typename ValueIn<A>::Type> m(a);
  const Expr<S> factor = 1 / Determinant(m);
  std::vector<NodeNumber> elements;
  for (std::int32_t i = 0; i < Q::kSize; ++i) {
    for (std::int32_t j = 0; j < Q::kSize; ++j) {
      const Expr<S> minor =
          detail::Minor<S>(m, detail::Without(j, Q::kSize), detail::Without(i, Q::kSize));
      elements.push_back((i + j) % 2 == 0 ? (factor * minor).node() : (-factor * minor).node());
    }
  }
  return Expr<typename ValueIn<A>::Type>(
      Trace::Current().Tensor(elements, Facts<typename ValueIn<A>::Type>::kType));
}

// Whether all, or any, of a vector's elements are true.
template <typename A>
auto All(const A& a) {
  using U = detail::AsVector<typename ValueIn<A>::Type>;
  const Expr<typename ValueIn<A>::Type> v(a);
  NodeNumber all = (v[0] != 0).node();
  for (std::int32_t i = 1; i < U::kCount; ++i) all = (Expr<bool>(all) && v[i] != 0).node();
  return Expr<bool>(all);
}
template <typename A>
auto Any(const A& a) {
  using U = detail::AsVector<typename ValueIn<A>::Type>;
  const Expr<typename ValueIn<A>::Type> v(a);
  NodeNumber any = (v[0] != 0).node();
  for (std::int32_t i = 1; i < U::kCount; ++i) any = (Expr<bool>(any) || v[i] != 0).node();
  return Expr<bool>(any);
}

// The functions of ti.math; of vectors, by element.
template <typename A, typename L, typename H>
auto Clamp(const A& x, const L& least, const H& most) {
  return Min(most, Max(x, least));
}
template <typename A, typename B, typename F>
auto Mix(const A& a, const B& b, const F& share) {
  return a * (1.0f - Plain(share)) + b * share;
}
template <typename A>
auto Fract(const A& x) {
  const Expr<typename ValueIn<A>::Type> once(x);
  return once - Floor(once);
}
// -1, 0 or 1 as a number of the same type.
template <typename A>
auto Sign(const A& x) {
  using S = ScalarIn<typename ValueIn<A>::Type>;
  const Expr<typename ValueIn<A>::Type> once(x);
  return Cast<S>(once > 0) - Cast<S>(once < 0);
}
template <typename A, typename B, typename X>
auto SmoothStep(const A& from, const B& to, const X& x) {
  const auto t = Clamp((x - from) / (to - from), 0.0f, 1.0f);
  return t * t * (3.0f - 2.0f * t);
}
template <typename A, typename B>
auto Distance(const A& a, const B& b) {
  return Norm(a - b);
}
// A vector reflected by a surface with the normal n of length 1.
template <typename A, typename B>
auto Reflect(const A& x, const B& n) {
  return x - 2.0f * Dot(x, n) * n;
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_VECTORS_HPP_
