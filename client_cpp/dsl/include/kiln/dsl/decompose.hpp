// Decompositions of matrices of two or three rows, in kernels: those of the language's library.
//
//   const auto f = Svd(deformation[p]);   // f.u, f.s, f.v
//
// Symmetric matrices of three rows are diagonalised by a fixed number of sweeps of Jacobi
// rotations, which are exact by then. A rotation is skipped if its element is only rounding error
// compared with the diagonal.
#ifndef KILN_DSL_DECOMPOSE_HPP_
#define KILN_DSL_DECOMPOSE_HPP_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/dsl/statements.hpp"
#include "kiln/dsl/values.hpp"
#include "kiln/dsl/vectors.hpp"

namespace kiln::dsl {

// a = u * s * v transposed. s is diagonal, with the largest number first; u and v are orthogonal.
// Of three rows, they are rotations, and the last number of s has the sign of the determinant.
template <typename M>
struct SvdOf {
  Expr<M> u, s, v;
};

// a = u * p. u is orthogonal, p symmetric.
template <typename M>
struct PolarOf {
  Expr<M> u, p;
};

namespace detail {

template <typename S>
Expr<bool> IsRounding(const Expr<S>& x, const Expr<S>& a, const Expr<S>& b) {
  return Abs(x) <= std::numeric_limits<S>::epsilon() * Min(Abs(a), Abs(b));
}

// Vector units only estimate reciprocal roots. Without this Newton step, the errors of many
// rotations would add up to a matrix that is visibly too short.
template <typename S>
Expr<S> Lengthened(const Expr<S>& of, const Expr<S>& c, const Expr<S>& s) {
  return of + of * (0.5f * (1 - c * c - s * s));
}

// Columns p and q of a row, turned.
template <typename S, typename M>
void TurnColumns(Var<M>& m, std::int32_t row, std::int32_t p, std::int32_t q, const Expr<S>& c,
                 const Expr<S>& s) {
  const Expr<S> at_p = m(row, p), at_q = m(row, q);
  m(row, p) = c * at_p - s * at_q;
  m(row, q) = s * at_p + c * at_q;
}
template <typename S, typename M>
void TurnRows(Var<M>& m, std::int32_t column, std::int32_t p, std::int32_t q, const Expr<S>& c,
              const Expr<S>& s) {
  const Expr<S> at_p = m(p, column), at_q = m(q, column);
  m(p, column) = c * at_p - s * at_q;
  m(q, column) = s * at_p + c * at_q;
}

// One Jacobi rotation, which makes s(p, q) zero; v accumulates the rotations.
template <typename S, typename M>
void Rotate(Var<M>& s, Var<M>& v, std::int32_t p, std::int32_t q) {
  const Expr<S> off = s(p, q), first = s(p, p), second = s(q, q);
  If(!IsRounding<S>(off, first, second), [&] {
    const Expr<S> theta = (second - first) / (2 * off);
    const Expr<S> size = 1 / (Abs(theta) + Sqrt(theta * theta + 1));
    const Expr<S> t = Select(theta < 0, -size, size);
    const Expr<S> c0 = 1 / Sqrt(t * t + 1), s0 = t * c0;
    const Expr<S> cosine = Lengthened(c0, c0, s0), sine = Lengthened(s0, c0, s0);
    for (std::int32_t k = 0; k < 3; ++k) {
      TurnColumns(v, k, p, q, cosine, sine);
      TurnColumns(s, k, p, q, cosine, sine);
    }
    for (std::int32_t k = 0; k < 3; ++k) TurnRows(s, k, p, q, cosine, sine);
  });
}

// Moves the longer column to the front. One column changes its sign, so that v stays a rotation.
template <typename S, typename M>
void SwapColumns(Var<M>& v, Var<M>& b, Var<Vec<S, 3>>& lengths, std::int32_t p, std::int32_t q) {
  const Expr<S> first = lengths[p], second = lengths[q];
  If(first < second, [&] {
    lengths[p] = second;
    lengths[q] = first;
    for (std::int32_t k = 0; k < 3; ++k) {
      for (Var<M>* const m : {&v, &b}) {
        const Expr<S> at_p = (*m)(k, p), at_q = (*m)(k, q);
        (*m)(k, p) = at_q;
        (*m)(k, q) = -at_p;
      }
    }
  });
}

// Turns rows p and q so that r(q, p) becomes zero and r(p, p) positive; u accumulates the inverse
// rotations.
template <typename S, typename M>
void Givens(Var<M>& r, Var<M>& u, std::int32_t p, std::int32_t q) {
  const Expr<S> a = r(p, p), b = r(q, p);
  const Expr<S> length = Sqrt(a * a + b * b);
  If(length > 0 && !(a > 0 && IsRounding<S>(b, a, a)), [&] {
    const Expr<S> c = a / length, s = b / length;
    for (std::int32_t k = 0; k < 3; ++k) {
      TurnRows<S>(r, k, p, q, c, -s);
      TurnColumns<S>(u, k, p, q, c, -s);
    }
  });
}

template <typename S>
SvdOf<Mat<S, 3, 3>> Svd3(const Expr<Mat<S, 3, 3>>& a) {
  using M = Mat<S, 3, 3>;
  Var<M> square = MatMul(Transpose(a), a), v = Identity<S, 3>();
  For(Range(sizeof(S) == sizeof(float) ? 5 : 8), [&](Int) {
    Rotate<S>(square, v, 0, 1);
    Rotate<S>(square, v, 0, 2);
    Rotate<S>(square, v, 1, 2);
  });
  Var<M> b = MatMul(a, v);
  const auto length = [&](std::int32_t i) {
    return b(0, i) * b(0, i) + b(1, i) * b(1, i) + b(2, i) * b(2, i);
  };
  Var<Vec<S, 3>> lengths = Vector<S>(length(0), length(1), length(2));
  SwapColumns<S>(v, b, lengths, 0, 1);
  SwapColumns<S>(v, b, lengths, 0, 2);
  SwapColumns<S>(v, b, lengths, 1, 2);
  // b = u r. The columns of b are orthogonal, so r is diagonal.
  Var<M> u = Identity<S, 3>();
  Givens<S>(b, u, 0, 1);
  Givens<S>(b, u, 0, 2);
  Givens<S>(b, u, 1, 2);
  return {Expr<M>(u), Matrix<S, 3>(b(0, 0), 0, 0, 0, b(1, 1), 0, 0, 0, b(2, 2)), Expr<M>(v)};
}

template <typename S>
PolarOf<Mat<S, 2, 2>> Polar2(const Expr<Mat<S, 2, 2>>& a) {
  using M = Mat<S, 2, 2>;
  Var<M> u = Identity<S, 2>(), p = a;
  If(a(0, 0) != 0 || a(0, 1) != 0 || a(1, 0) != 0 || a(1, 1) != 0, [&] {
    const Expr<S> determinant = Determinant(a);
    // Adds the cofactor matrix, with the sign that keeps the sum invertible.
    const Expr<S> sign = Select(determinant < 0, -1, Expr<S>(1));
    const Expr<M> b = a + sign * Matrix<S, 2>(a(1, 1), -a(1, 0), -a(0, 1), a(0, 0));
    const Expr<S> k0 = 1 / Sqrt(Abs(Determinant(b)));
    const Expr<S> length = b(0, 0) * b(0, 0) + b(1, 0) * b(1, 0);
    // A Newton step: a rotation that is too short by one bit would produce stress in an undeformed
    // material.
    const Expr<S> k = k0 + 0.5f * k0 * (1 - length * k0 * k0);
    u = b * k;
    p = (MatMul(Transpose(a), a) + Abs(determinant) * Identity<S, 2>()) * k;
  });
  return {Expr<M>(u), Expr<M>(p)};
}

template <typename S>
SvdOf<Mat<S, 2, 2>> Svd2(const Expr<Mat<S, 2, 2>>& a) {
  using M = Mat<S, 2, 2>;
  const PolarOf<M> polar = Polar2<S>(a);
  const Expr<S> p00 = polar.p(0, 0), p01 = polar.p(0, 1), p11 = polar.p(1, 1);
  Var<S> c = 1, s = 0, s1 = p00, s2 = p11;
  If(!IsRounding<S>(p01, p00, p11), [&] {
    const Expr<S> tau = (p00 - p11) / 2;
    const Expr<S> w = Sqrt(tau * tau + p01 * p01);
    const Expr<S> t = p01 / (tau + Select(tau > 0, w, -w));
    const Expr<S> cosine = 1 / Sqrt(t * t + 1), sine = -t * cosine;
    c = cosine;
    s = sine;
    s1 = cosine * cosine * p00 - 2 * cosine * sine * p01 + sine * sine * p11;
    s2 = sine * sine * p00 + 2 * cosine * sine * p01 + cosine * cosine * p11;
  });
  Var<M> v = Matrix<S, 2>(c, s, -s, c);
  const Expr<S> first = s1, second = s2;
  If(first < second, [&] {
    s1 = second;
    s2 = first;
    v = Matrix<S, 2>(-s, c, -c, -s);
  });
  return {MatMul(polar.u, v), Matrix<S, 2>(s1, 0, 0, s2), Expr<M>(v)};
}

template <typename A>
struct Decomposed {
  using Type = typename ValueIn<A>::Type;
  using Scalar = typename Square<Type>::Scalar;
  static constexpr std::int32_t kSize = Square<Type>::kSize;
  static_assert(std::is_floating_point_v<Scalar> && (kSize == 2 || kSize == 3),
                "a matrix of floats with two or three rows");
};

}  // namespace detail

template <typename A>
auto Svd(const A& a) {
  using D = detail::Decomposed<A>;
  using S = typename D::Scalar;
  const Expr<typename D::Type> once(a);
  if constexpr (D::kSize == 2) {
    return detail::Svd2<S>(once);
  } else {
    return detail::Svd3<S>(once);
  }
}

template <typename A>
auto PolarDecompose(const A& a) {
  using D = detail::Decomposed<A>;
  using S = typename D::Scalar;
  const Expr<typename D::Type> once(a);
  if constexpr (D::kSize == 2) {
    return detail::Polar2<S>(once);
  } else {
    const auto f = detail::Svd3<S>(once);
    const Expr<typename D::Type> back = Transpose(f.v);
    return PolarOf<typename D::Type>{MatMul(f.u, back), MatMul(MatMul(f.v, f.s), back)};
  }
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_DECOMPOSE_HPP_
