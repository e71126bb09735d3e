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
  using V = typename A::Of;
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
  return Sum(Expr<typename A::Of>(a) * Expr<typename B::Of>(b));
}
template <typename A>
auto NormSqr(const A& a) {
  const Expr<typename A::Of> once(a);
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
  const Expr<typename A::Of> once(a);
  return once / Norm(once);
}

// Of two vectors of three numbers.
template <typename A, typename B>
auto Cross(const A& a, const B& b) {
  static_assert(Facts<typename A::Of>::kCount == 3 && Facts<typename B::Of>::kCount == 3 &&
                    detail::kIsVector<typename A::Of> && detail::kIsVector<typename B::Of>,
                "the operands are vectors of three numbers");
  const Expr<typename A::Of> x(a);
  const Expr<typename B::Of> y(b);
  using S = decltype(PromotedScalar<ScalarIn<typename A::Of>, ScalarIn<typename B::Of>>());
  return Vector<S>(x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]);
}

template <typename A>
auto Transpose(const A& a) {
  using T = detail::Transposed<typename A::Of>;
  using R = typename T::Type;
  const Expr<typename A::Of> matrix(a);
  std::vector<NodeNumber> elements;
  elements.reserve(Facts<R>::kCount);
  for (std::int32_t j = 0; j < T::kColumns; ++j) {
    for (std::int32_t i = 0; i < T::kRows; ++i) elements.push_back(matrix(i, j).node());
  }
  return Expr<R>(Trace::Current().Tensor(elements, Facts<R>::kType));
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_VECTORS_HPP_
