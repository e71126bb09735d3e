// Functions that kernels call: recursion, references, results, and what is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <kiln/dsl.hpp>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FunctionTest, CallsItself) {
  FunctionOf<Expr<int>, Value<int>> fibonacci([&](Value<int> n) -> Expr<int> {
    If(n < 2, [&] { Return(n); });
    return fibonacci(n - 1) + fibonacci(n - 2);
  });
  Kernel all("all", [&](Array<int, 1> x) { ForEach(x, [&](Int i) { x[i] = fibonacci(i); }); });
  Kernel one("one", [&](Value<int> n) { return fibonacci(n); });
  std::vector<int> numbers(10);
  all(numbers);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 1, 2, 3, 5, 8, 13, 21, 34));
  EXPECT_EQ(one(15), 610);
}

TEST(FunctionTest, CallsAnotherThatCallsIt) {
  using IsFunction = FunctionOf<Expr<bool>, Value<int>>;
  const IsFunction* odd_function = nullptr;
  IsFunction even([&](Value<int> n) -> Expr<bool> {
    If(n == 0, [&] { Return(Expr<bool>(true)); });
    return (*odd_function)(n - 1);
  });
  IsFunction odd([&](Value<int> n) -> Expr<bool> {
    If(n == 0, [&] { Return(Expr<bool>(false)); });
    return even(n - 1);
  });
  odd_function = &odd;
  Kernel k("k", [&](Value<int> n) { return even(n); });
  EXPECT_TRUE(k(10));
  EXPECT_FALSE(k(7));
}

TEST(FunctionTest, OfALambda) {
  Function blend(
      [](Value<float> a, Value<float> b, Value<double> t) { return a + Cast<float>(t) * (b - a); });
  Function turned([](Value<Vec<float, 2>> v) { return Vector<float>(-v[1], v[0]); });
  const auto copy = blend;
  Kernel k("k", [&](Value<Vec<float, 2>> v, Value<int> n) {
    return turned(v) + blend(1, n, 0.25) + copy(v[0], v[1], 0.5);
  });
  EXPECT_THAT(k({3, 5}, 9), ElementsAre(-5 + 3 + 4, 3 + 3 + 4));
}

// The code of a function is in the kernel once, so its loops and local variables are its own.
TEST(FunctionTest, LoopsAndVariables) {
  Function collatz([](Value<int> n) {
    Var<int> at = n;
    Var<int> steps;
    While([&] { return at > 1; },
          [&] {
            If(at % 2 == 0, [&] { at = FloorDiv(at, 2); }, [&] { at = 3 * at + 1; });
            steps += 1;
            If(steps > 100, [&] { Return(Expr<int>(-1)); });
          });
    return Expr<int>(steps);
  });
  Kernel k("k", [&](Array<int, 1> x) { ForEach(x, [&](Int i) { x[i] = collatz(i + 1); }); });
  std::vector<int> steps(27);
  k(steps);
  EXPECT_EQ(steps[0], 0);
  EXPECT_EQ(steps[6], 16);
  EXPECT_EQ(steps[26], -1);  // 111 of them
}

TEST(FunctionTest, References) {
  Function next([](Ref<std::uint32_t> state) {
    state = state * 1664525 + 1013904223;
    return Expr<std::uint32_t>(state) >> 16;
  });
  Field<int, 1> counts({4});
  Function count([&](Value<int> which, Ref<float> sum) {
    counts[which] += 1;  // a field of the program
    sum += Cast<float>(which);
  });
  Kernel k("k", [&](Value<std::uint32_t> seed) {
    Var<std::uint32_t> state = seed;
    Var<float> sum = 0;
    For(Range(100), [&](Int) { count(Cast<int>(next(state) % 4), sum); });
    return sum;
  });
  std::uint32_t state = 7;
  float sum = 0;
  int expected[4] = {};
  for (int i = 0; i < 100; ++i) {
    state = state * 1664525 + 1013904223;
    ++expected[(state >> 16) % 4];
    sum += static_cast<float>((state >> 16) % 4);
  }
  EXPECT_EQ(k(7), sum);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(counts.get(i), expected[i]);
}

TEST(FunctionTest, ArraysOfTheKernel) {
  Kernel k("k", [](Array<float, 1> x, Value<int> n) {
    FunctionOf<Expr<float>, Value<int>, Value<int>> sum(
        [&](Value<int> from, Value<int> to) -> Expr<float> {
          If(to - from == 1, [&] { Return(x[from] + 0); });
          Expr middle = FloorDiv(from + to, 2);
          return sum(from, middle) + sum(middle, to);
        });
    return sum(0, n);
  });
  std::vector<float> x(100);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  EXPECT_EQ(k(x, 100), 4950);
}

TEST(FunctionTest, Mistakes) {
  int line = 0;
  const auto at = [&] { return __FILE__ ":" + std::to_string(line) + ": "; };
  const std::string captured = ErrorOf([&] {
    Kernel k("k", [&](Value<float> a) {
      Function f([&](Value<float> b) {
        line = __LINE__ + 1;
        return b + a;
      });
      return f(1);
    });
  });
  EXPECT_THAT(captured, HasSubstr("a value of the caller, or of another kernel, is used in a "
                                  "function: pass it as an argument"));
  const std::string other_type = ErrorOf([&] {
    Function f([&](Value<float> b) {
      line = __LINE__ + 1;
      If(b > 0, [&] { Return(Expr<int>(1)); });
      return b + 0;
    });
    Kernel k("k", [&](Value<float> a) { return f(a); });
  });
  EXPECT_THAT(other_type, HasSubstr(at() + "a value of another type than the function returns"));
  const std::string outside = ErrorOf([&] {
    Kernel k("k", [&](Value<float> a) {
      line = __LINE__ + 1;
      If(a > 0, [&] { Return(); });
    });
  });
  EXPECT_THAT(outside, HasSubstr(at() + "Return outside a function"));
}

// A function may be made while its caller is, or before; several threads may use it.
TEST(FunctionTest, KeysDependOnTheFunction) {
  const auto key_with = [](int factor) {
    Function f([=](Value<int> n) { return n * factor; });
    Kernel k("k", [&](Value<int> n) { return f(n) + f(n + 1); });
    EXPECT_EQ(k(3), 7 * factor);
    return k.program().key();
  };
  EXPECT_EQ(key_with(2), key_with(2));
  EXPECT_NE(key_with(2), key_with(3));
}

}  // namespace
