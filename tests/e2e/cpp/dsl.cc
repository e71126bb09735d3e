// Kernels written in C++ (kiln/dsl.hpp), run. Prints "KEY name key" of those that Python has,
// too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <kiln/dsl.hpp>
#include <vector>

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename Make>
std::string ErrorOf(const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DslTest, Saxpy) {
  Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
    ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
  });
  std::vector<float> xs(1000, 3), ys(1000, 2);
  saxpy(xs, ys, 2.0f);
  EXPECT_THAT(ys, Each(8));
  std::printf("KEY saxpy %s\n", saxpy.program().key().c_str());
}

TEST(DslTest, ArraysMayOverlap) {
  Kernel shift("shift", [](Array<float, 1> x, Array<float, 1> y, Value<int> n) {
    For(Range(n), [&](Int i) { y[i] = x[i] * 2; });
  });
  std::vector<float> numbers(6, 1);
  shift({numbers.data(), {5}}, {numbers.data() + 1, {5}}, 5);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 4, 8, 16, 32));
}

TEST(DslTest, FieldsAndControl) {
  Field<Vec<float, 2>, 2> v({8, 2});
  for (int i = 0; i < 8; ++i) v.at(i, 0) = {0.125f * static_cast<float>(i), 1};
  Kernel f("f", [&](Value<int> n) {
    Var<float> s = 0;
    ForEach(Range(n), [&](Int i) {
      Expr t = v(i, 0);
      If(t[0] > 0.5 && i != 7, [&] { s += t[0]; }, [&] { v(i, 0) = t * 2; });
    });
    While([&] { return s > 1; },
          [&] {
            s = s - 0.25;
            If(s < 1.1, [] { Break(); });
          });
    return s;
  });
  EXPECT_FLOAT_EQ(f(8), 0.875f);  // of 1.375 and 1.125
  EXPECT_FLOAT_EQ(v.at(1, 0)[0], 0.25f);
  EXPECT_FLOAT_EQ(v.at(5, 0)[0], 0.625f);
}

TEST(DslTest, VectorsAndMatrices) {
  Kernel k("k", [](Value<Mat<float, 2, 2>> a, Value<Vec<float, 2>> b) {
    Expr c = MatMul(a, b) + 1;
    return Choose(c[0] > 4, [&] { return c + Vector<float>(1, 2); }, [&] { return c * 2; });
  });
  EXPECT_THAT(k({{{1, 2}, {3, 4}}}, {1, 1}), ElementsAre(8, 16));
  EXPECT_THAT(k({{{2, 2}, {3, 4}}}, {1, 1}), ElementsAre(6, 10));
}

TEST(DslTest, TypesOfResults) {
  Kernel k("k", [](Value<int> i, Value<std::int64_t> l, Value<double> d) {
    static_assert(std::is_same_v<decltype(i / 2)::Of, float>);
    static_assert(std::is_same_v<decltype(i * 2.5)::Of, float>);
    static_assert(std::is_same_v<decltype(d * 2)::Of, double>);
    static_assert(std::is_same_v<decltype(i + l)::Of, std::int64_t>);
    static_assert(std::is_same_v<decltype(i < l)::Of, bool>);
    static_assert(std::is_same_v<decltype(FloorDiv(i, 2))::Of, int>);
    return Cast<double>(i / 2) + Cast<double>(FloorDiv(i, 2)) + Cast<double>(i % 2) +
           Cast<double>(l) + d;
  });
  EXPECT_EQ(k(-3, 1'000'000'000'000, 0.25), -1.5 - 2 + 1 + 1e12 + 0.25);
}

TEST(DslTest, PlacesAreAliasesAndValuesAreNot) {
  Field<float, 1> x({2});
  Kernel k("k", [&] {
    auto place = x[0];
    Expr value = x[0];
    x[0] = 5;
    x[1] = place * 10 + value;
  });
  x.at(0) = 1;
  k();
  EXPECT_EQ(x.at(1), 51);
}

TEST(DslTest, Atomics) {
  Field<int, 1> bins({4});
  Field<float, 0> top({});
  Kernel k("k", [&](Array<float, 1> x) {
    ForEach(x, [&](Int i) {
      bins[Cast<int>(x[i]) % 4] += 1;
      AtomicMax(top(), x[i]);
    });
  });
  std::vector<float> x(4001);
  for (int i = 0; i < 4001; ++i) x[i] = static_cast<float>(i);
  k(x);
  EXPECT_THAT(std::vector<int>(bins.data(), bins.data() + 4), ElementsAre(1001, 1000, 1000, 1000));
  EXPECT_EQ(top.at(), 4000);
}

TEST(DslTest, ErrorsNameTheLine) {
  int line = 0;
  const std::string error = ErrorOf([&] {
    Kernel bad("bad", [&](Array<float, 1> x) {
      ForEach(x, [&](Int) {
        line = __LINE__ + 1;
        Break();
      });
    });
  });
  EXPECT_THAT(error, HasSubstr("dsl.cc:" + std::to_string(line) + ": Cannot break in the outer"));
  EXPECT_THAT(ErrorOf([] { Kernel bad("bad", [] { Print("a {}"); }); }),
              HasSubstr("the text 'a {}' has 1 {} for 0 values"));
  EXPECT_THAT(ErrorOf([] { Field<float, 1> none({0}); }), HasSubstr("extent of zero"));
}

TEST(DslTest, LaunchesThatFail) {
  Kernel k("k", [](Array<float, 1> x) { ForEach(x, [&](Int i) { x[i] = 1; }); });
  EXPECT_THAT(ErrorOf([&] { k({nullptr, {4}}); }),
              HasSubstr("argument 0: no memory for an array of 4 elements"));
}

}  // namespace
