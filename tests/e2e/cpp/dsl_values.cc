// Functions of numbers, vectors and matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <kiln/dsl.hpp>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnTestArch;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ValueTest, VectorsAndMatrices) {
  Kernel k("k", [](Value<Mat<float, 2, 2>> a, Value<Vec<float, 2>> b) {
    Expr c = MatMul(a, b) + 1;
    return Choose(c[0] > 4, [&] { return c + Vector<float>(1, 2); }, [&] { return c * 2; });
  });
  EXPECT_THAT(k({{{1, 2}, {3, 4}}}, {1, 1}), ElementsAre(8, 16));
  EXPECT_THAT(k({{{2, 2}, {3, 4}}}, {1, 1}), ElementsAre(6, 10));
}

TEST(ValueTest, FunctionsOfVectors) {
  Kernel k("k", [](Value<Vec<float, 3>> a, Value<Vec<float, 3>> b, Value<Mat<float, 2, 3>> m) {
    Expr mixed = MatMul(Transpose(MatMul(m, Transpose(m))), Vector<float>(1, 2));
    return Cross(a, b) * Dot(a, b) + Normalized(Vector<float>(3, 0, 4)) + Norm(b) * NormSqr(a) +
           Sum(mixed);
  });
  // (1, 2, 2) x (3, 0, 4) = (8, 2, -6), their product 11, norms 3 and 5; m mT = [[2, 1], [1, 5]].
  const Vec<float, 3> got = k({1, 2, 2}, {3, 0, 4}, {{{1, 0, 1}, {1, 2, 0}}});
  EXPECT_FLOAT_EQ(got[0], 88 + 0.6f + 45 + 15);
  EXPECT_FLOAT_EQ(got[1], 22 + 45 + 15);
  EXPECT_NEAR(got[2], -66 + 0.8 + 45 + 15, 1e-5);
}

TEST(ValueTest, FunctionsOfMatrices) {
  using M = Mat<double, 4, 4>;
  Kernel k("k", [](Value<M> a) {
    Expr product = MatMul(a, Inverse(a));
    Expr m = Matrix<double, 3>(2, 0, 1, 0, 3, 0, 1, 0, 1);
    Expr n = Matrix<double, 2>(1, 2, 3, 4);
    Var<double> off = 0;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) off += Abs(product(i, j) - Identity<double, 4>()(i, j));
    }
    Expr inverse = MatMul(m, Inverse(m)) - Identity<double, 3>();
    for (int i = 0; i < 9; ++i) off += Abs(inverse(i / 3, i % 3));
    return Vector<double>(
        Determinant(a), off, Determinant(m), Determinant(n), Inverse(n)(1, 0), TraceOf(m),
        Outer(MatMul(n, Vector<double>(1, 0)), MatMul(n, Vector<double>(0, 1)))(1, 0));
  });
  const Vec<double, 7> got = k({{{2, 1, 0, 3}, {1, 4, 1, 0}, {0, 2, 5, 1}, {3, 0, 1, 6}}});
  EXPECT_DOUBLE_EQ(got[0], 8);
  EXPECT_NEAR(got[1], 0, 1e-12);
  EXPECT_DOUBLE_EQ(got[2], 3);
  EXPECT_DOUBLE_EQ(got[3], -2);
  EXPECT_DOUBLE_EQ(got[4], 1.5);
  EXPECT_DOUBLE_EQ(got[5], 6);
  EXPECT_DOUBLE_EQ(got[6], 2 * 3);
}

template <typename S, std::size_t N>
void CheckDecompositions(double bound) {
  using M = Mat<S, N, N>;
  constexpr int kCount = 40;
  Field<M, 1> x({kCount}, kGrad), worst({kCount});
  Field<S, 0> loss({}, kGrad);
  for (int k = 1; k < kCount; ++k) {  // the first one is zero
    M m{};
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j < N; ++j) {
        // The second one is the identity, the third one singular.
        const auto random = static_cast<S>(std::sin(1.0 + 7.0 * k + 2.3 * i + 5.1 * j * (i + 1)));
        const bool is_one = k == 1 ? i == j : i + j == 0;
        m[i][j] = k > 2 ? random : static_cast<S>(is_one ? 1 : 0);
      }
    }
    x.set(m, k);
  }
  Kernel check("check", [&] {
    ForEach(x, [&](Int k) {
      const auto f = Svd(x[k]);
      const auto polar = PolarDecompose(x[k]);
      const Expr<M> one = Identity<S, N>();
      Expr off = Abs(MatMul(MatMul(f.u, f.s), Transpose(f.v)) - x[k]);
      Expr turned =
          Max(Abs(MatMul(Transpose(f.u), f.u) - one), Abs(MatMul(Transpose(f.v), f.v) - one));
      Expr product = Max(Abs(MatMul(polar.u, polar.p) - x[k]), Abs(polar.p - Transpose(polar.p)));
      Var<M> w = Max(Max(off, turned), product);
      For(Range(static_cast<int>(N) - 1), [&](Int i) {
        If(Abs(f.s(i, i)) < Abs(f.s(i + 1, i + 1)) || f.s(i, i) < 0, [&] { w = 100; });
      });
      worst[k] = w;
    });
  });
  check();
  for (int k = 0; k < kCount; ++k) {
    for (const auto& row : worst.get(k)) {
      for (const S number : row) EXPECT_LT(number, bound) << "matrix " << k;
    }
  }
  // The derivative of the singular values' sum is u * v transposed.
  Kernel sum("sum", [&] { ForEach(x, [&](Int k) { loss() += TraceOf(Svd(x[k]).s); }); });
  Kernel expected("expected", [&] {
    ForEach(x, [&](Int k) {
      const auto f = Svd(x[k]);
      worst[k] = MatMul(f.u, Transpose(f.v));
    });
  });
  expected();
  Tape().Run(loss, [&] { sum(); });
  for (int k = 3; k < kCount; ++k) {
    for (std::size_t i = 0; i < N * N; ++i) {
      EXPECT_NEAR(x.grad().get(k)[i / N][i % N], worst.get(k)[i / N][i % N], 100 * bound) << k;
    }
  }
}

TEST(ValueTest, Decompositions) {
  CheckDecompositions<float, 2>(3e-6);
  CheckDecompositions<double, 2>(1e-13);
  CheckDecompositions<float, 3>(3e-6);
  CheckDecompositions<double, 3>(1e-13);
}

TEST(ValueTest, FunctionsOfNumbers) {
  Kernel floats("floats", [](Value<float> x, Value<Vec<float, 2>> v) {
    Var<float> q = x;
    q /= 4;
    Expr side = Vector<float>(1, 0);
    return Vector<float>(Clamp(x, 0.0, 1.0), Mix(1.0, x, 0.5), Fract(-x), Sign(-x),
                         SmoothStep(0, 4, x), Distance(v, side), Reflect(v, side)[0], q,
                         Max(1, x, 2.5, v[0]), Min(v[0], x, v[1]), (+x) % 2);
  });
  EXPECT_THAT(floats(2.25f, {4, 4}),
              ElementsAre(1, 1.625f, 0.75f, -1, testing::FloatNear(0.5932617f, 1e-6), 5, -4,
                          0.5625f, 4, 2.25f, 0.25f));
  Kernel ints("ints", [](Value<int> i) {
    Var<int> m = i, s = i;
    m %= 4;
    s <<= 2;
    s >>= 1;
    Expr<bool> both = All(Vector<int>(i, 1) < 2), one = Any(Vector<int>(i, 3) > 2);
    return Vector<int>(TruncDiv(i, 2), TruncMod(i, 2), FloorDiv(i, 2), ShiftIn(i, 28), m, s,
                       LeadingZeros(Abs(i)), BitCast<int>(Expr<float>(1.0)), Cast<int>(both),
                       Cast<int>(one), Sign(i));
  });
  EXPECT_THAT(ints(-7), ElementsAre(-3, -1, -4, 15, 1, -14, 29, 0x3f800000, 1, 1, -1));
  Field<int, 1> x({4});
  Kernel atomics("atomics", [&] {
    ForEach(Range(3), [&](Int i) {
      AtomicMul(x[0], i + 1);
      AtomicOr(x[1], 1 << i);
      AtomicAnd(x[2], ~(1 << i));
      AtomicXor(x[3], 1 << i);
    });
  });
  x.Fill(15);
  atomics();
  std::vector<int> all(4);
  x.CopyTo(all.data());
  EXPECT_THAT(all, ElementsAre(90, 15, 8, 8));
}

TEST(ValueTest, VectorsOfThePrograms) {
  using V = Vec<float, 2>;
  constexpr V kUp = {0, 1};
  const Mat<float, 2, 2> turn = {{{0, -1}, {1, 0}}};
  const auto half = [](const Expr<V>& of) { return of / 2; };
  Field<V, 1> x({3});
  Kernel k("k", [&](Value<float> by) {
    Var<V> v = kUp;
    v += V{1, 1};
    x[0] = V{7, 8};
    x[1] = by * kUp + MatMul(turn, v) - Select(by > 1, kUp, V{0, 0});
    x[2] = Max(half(V{2, 6}), V{2, 2}) * Vec<int, 2>{1, 2};
    return Dot(v, kUp) + Sum(v + Vec<double, 2>{0.5, 0.25});
  });
  EXPECT_EQ(k(3), 2 + 3.75);
  EXPECT_THAT(x.get(0), ElementsAre(7, 8));
  EXPECT_THAT(x.get(1), ElementsAre(-2, 1 + 3 - 1));
  EXPECT_THAT(x.get(2), ElementsAre(2, 6));
  const int line = __LINE__ + 1;  // of the macro
  EXPECT_THAT(
      ErrorOf([] { Kernel k("k", [] { Var<Vec<signed char, 2>> v = Vec<int, 2>{1, 300}; }); }),
      HasSubstr(__FILE__ ":" + std::to_string(line) + ": the number 300 does not fit i8"));
}

TEST(ValueTest, VectorsOfIndices) {
  Field<int, 2> x({4, 5});
  Tree tree;
  const TreeField<int, 2> y(tree.root().pointer("ij", {4, 5}));
  using At = Expr<Vec<int, 2>>;
  Kernel number("number", [&] { ForEach(x, [&](At at) { x(at) = at[0] * 10 + at[1]; }); });
  number();
  EXPECT_EQ(x.get(3, 4), 34);
  Kernel shift("shift", [&](Value<Vec<int, 2>> by) {
    ForEach(Range(2, 3), [&](At at) { y(at + by) = x[at]; });
  });
  shift({1, 2});
  EXPECT_EQ(y.get(2, 4), 12);
  EXPECT_EQ(y.get(3, 4), 0);
  int line = 0;
  Service service = OnTestArch();
  service.debug = true;
  Use(service);
  Kernel far("far", [&](Value<Vec<int, 2>> by) {
    line = __LINE__ + 1;
    x(by) = 1;
  });
  EXPECT_THAT(ErrorOf([&] { far({1, 5}); }),
              HasSubstr("index (1, 5) of shape (4, 5) at " __FILE__ ":" + std::to_string(line)));
  Use(OnTestArch());
}

}  // namespace
