// Kernels, as they are written: values, control, places, what is wrong at which line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <kiln/dsl.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnTestArch;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(KernelTest, Saxpy) {
  Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
    ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
  });
  std::vector<float> xs(1000, 3), ys(1000, 2);
  saxpy(xs, ys, 2.0f);
  EXPECT_THAT(ys, Each(8));
  std::printf("KEY saxpy %s\n", saxpy.program().key().c_str());
}

TEST(KernelTest, ArraysMayOverlap) {
  Kernel shift("shift", [](Array<float, 1> x, Array<float, 1> y, Value<int> n) {
    For(Range(n), [&](Int i) { y[i] = x[i] * 2; });
  });
  std::vector<float> numbers(6, 1);
  shift({numbers.data(), {5}}, {numbers.data() + 1, {5}}, 5);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 4, 8, 16, 32));
}

TEST(KernelTest, FieldsAndControl) {
  Field<Vec<float, 2>, 2> v({8, 2});
  for (int i = 0; i < 8; ++i) v.set({0.125f * static_cast<float>(i), 1}, i, 0);
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
  EXPECT_FLOAT_EQ(v.get(1, 0)[0], 0.25f);
  EXPECT_FLOAT_EQ(v.get(5, 0)[0], 0.625f);
}

TEST(KernelTest, TypesOfResults) {
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

TEST(KernelTest, PlacesAreAliasesAndValuesAreNot) {
  Field<float, 1> x({2});
  Kernel k("k", [&] {
    auto place = x[0];
    Expr value = x[0];
    x[0] = 5;
    x[1] = place * 10 + value;
  });
  x.set(1, 0);
  k();
  EXPECT_EQ(x.get(1), 51);
}

TEST(KernelTest, Atomics) {
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
  std::vector<int> counts(4);
  bins.CopyTo(counts.data());
  EXPECT_THAT(counts, ElementsAre(1001, 1000, 1000, 1000));
  EXPECT_EQ(top.get(), 4000);
}

TEST(KernelTest, ErrorsNameTheLine) {
  int line = 0;
  const std::string error = ErrorOf([&] {
    Kernel bad("bad", [&](Array<float, 1> x) {
      ForEach(x, [&](Int) {
        line = __LINE__ + 1;
        Break();
      });
    });
  });
  EXPECT_THAT(error,
              HasSubstr(__FILE__ ":" + std::to_string(line) + ": Cannot break in the outer"));
  EXPECT_THAT(ErrorOf([] { Kernel bad("bad", [] { Print("a {}"); }); }),
              HasSubstr("the text 'a {}' has 1 {} for 0 values"));
  EXPECT_THAT(ErrorOf([] { Field<float, 1> none({0}); }), HasSubstr("extent of zero"));
}

TEST(KernelTest, StaticObjectsOutliveMain) {
  static Field<float, 1> x({1000});
  static Kernel add("add", [] { ForEach(x, [](Int i) { x[i] += 1; }); });
  add();
  x.set(x.get(3) + 5, 3);
  EXPECT_EQ(x.get(3), 6);
  add();  // it may run while the two are destroyed
}

TEST(KernelTest, LaunchesThatFail) {
  Service service = OnTestArch();
  service.debug = true;
  Use(service);
  Field<int, 1> x({4});
  int line = 0;
  Kernel check("check", [&](Value<int> n) {
    line = __LINE__ + 1;
    Assert(n < 3, "n is {}", n);
    x[n] = 7;
  });
  check(2);
  EXPECT_THAT(ErrorOf([&] { check(3); }),
              HasSubstr("n is 3 at " __FILE__ ":" + std::to_string(line)));
  EXPECT_EQ(x.get(2), 7);
  EXPECT_EQ(x.get(3), 0);
  Kernel copy("copy", [&](Value<int> n) {
    line = __LINE__ + 1;
    x[0] = x[n];
  });
  copy(2);
  EXPECT_EQ(x.get(0), 7);
  EXPECT_THAT(ErrorOf([&] { copy(4); }), HasSubstr(__FILE__ ":" + std::to_string(line)));
  Use(OnTestArch());

  Kernel k("k", [](Array<float, 1> x) { ForEach(x, [&](Int i) { x[i] = 1; }); });
  EXPECT_THAT(ErrorOf([&] { k({nullptr, {4}}); }),
              HasSubstr("argument 0: no memory for an array of 4 elements"));
}

}  // namespace
