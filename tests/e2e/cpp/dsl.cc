// Kernels written in C++ (kiln/dsl.hpp), run: on a CUDA device with KILN_TEST_ARCH=cuda. Prints
// "KEY name key" of those that Python has, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <kiln/dsl.hpp>
#include <thread>
#include <vector>

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

Service OnArch(const char* arch) {
  Service service;
  service.arch = arch;
  return service;
}

bool OnCuda() {
  const char* arch = std::getenv("KILN_TEST_ARCH");
  return arch != nullptr && std::string(arch) == "cuda";
}

class Arch : public testing::Environment {
  void SetUp() override {
    if (OnCuda()) Use(OnArch("cuda"));
  }
};
const testing::Environment* const kArch = testing::AddGlobalTestEnvironment(new Arch);

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
  x.set(1, 0);
  k();
  EXPECT_EQ(x.get(1), 51);
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
  std::vector<int> counts(4);
  bins.CopyTo(counts.data());
  EXPECT_THAT(counts, ElementsAre(1001, 1000, 1000, 1000));
  EXPECT_EQ(top.get(), 4000);
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

TEST(DslTest, SparseFields) {
  Tree tree;
  const SNode block = tree.root().pointer("ij", {8, 8});
  const SNode cells = block.dense("ij", {4, 4});
  const TreeField<float, 2> x(cells);
  const TreeField<Vec<float, 2>, 2> v(cells);
  x.set(1.5f, 5, 6);
  EXPECT_EQ(block.CountActive(), 1);
  EXPECT_EQ(x.get(5, 6), 1.5f);
  EXPECT_EQ(x.get(31, 31), 0);
  EXPECT_THAT(x.shape(), ElementsAre(32, 32));

  Kernel spread("spread", [&] {
    ForEach(x, [&](Int i, Int j) {
      If(x(i, j) > 0, [&] { x(i + 4, j) += x(i, j); });
      v(i, j) = Vector<float>(Cast<float>(i), Cast<float>(j));
    });
  });
  spread();
  EXPECT_EQ(x.get(9, 6), 1.5f);
  EXPECT_EQ(block.CountActive(), 2);
  EXPECT_THAT(v.get(7, 4), ElementsAre(7, 4));
  EXPECT_THAT(v.get(9, 6), ElementsAre(0, 0)) << "this block was made in the loop";

  Kernel halve("halve", [&] {
    ForEach(x, [&](Int i, Int j) {
      If(x(i, j) > 1.0, [&] { x(i, j) = x(i, j) * 0.5; });
      v(i, j) = x(i, j);
    });
  });
  halve();
  EXPECT_EQ(x.get(5, 6), 0.75f);
  EXPECT_THAT(v.get(9, 6), ElementsAre(0.75f, 0.75f));
  std::printf("KEY halve %s\n", halve.program().key().c_str());

  Kernel count("count", [&] {
    Var<int> sum = 0;
    ForEach(Cells<2>(block), [&](Int i, Int j) {
      sum += 1;
      If(i == 2, [&] { Deactivate(block, i, j); });
    });
    return sum;
  });
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(block.CountActive(), 1);
  Kernel ask("ask", [&](Value<int> i) {
    Activate(block, i, 7);
    return Cast<int>(IsActive(block, i, 7)) + 2 * Cast<int>(IsActive(block, 2, 1));
  });
  EXPECT_EQ(ask(7), 1);

  std::vector<float> all(32 * 32, 7);
  x.CopyTo(all.data());
  EXPECT_EQ(all[5 * 32 + 6], 0.75f);
  EXPECT_EQ(all[9 * 32 + 6], 0);
  all.assign(32 * 32, 2);
  x.CopyFrom(all.data());
  EXPECT_EQ(block.CountActive(), 64);
  block.DeactivateAll();
  EXPECT_EQ(x.get(5, 6), 0);
}

TEST(DslTest, Lists) {
  Tree tree;
  const SNode list = tree.root().dense("i", {4}).dynamic("j", 8, 4);
  const TreeField<int, 2> x(list);
  Kernel fill("fill", [&](Value<int> n) {
    ForEach(Range(4), [&](Int i) { For(Range(n), [&](Int k) { Append(x, k * 10 + i, i); }); });
  });
  fill(3);
  EXPECT_EQ(x.get(2, 1), 12);
  Kernel length("length", [&](Value<int> i) { return Length(list, i); });
  EXPECT_EQ(length(1), 3);
  fill(7);
  EXPECT_EQ(length(1), 8) << "full";
  Kernel sum("sum", [&] {
    Var<int> all = 0;
    ForEach(x, [&](Int i, Int j) { all += x(i, j) + 100 * j; });
    return all;
  });
  int expected = 0;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 8; ++j) expected += (j < 3 ? j : j - 3) * 10 + i + 100 * j;
  }
  EXPECT_EQ(sum(), expected);
  EXPECT_EQ(list.CountActive(), 32);
  Kernel clear("clear", [&] { Deactivate(list, 2); });
  clear();
  EXPECT_EQ(length(2), 0);
}

TEST(DslTest, TreesWithoutSparseSNodes) {
  Tree tree;
  const SNode blocks = tree.root().dense("ij", {2, 2}).dense("ij", {3, 3});
  const TreeField<double, 2> x(blocks), y(blocks);
  x.set(0.5, 4, 5);
  Kernel scale("scale", [&](Value<double> by) {
    ForEach(x, [&](Int i, Int j) { y(i, j) = by * x(i, j) + Cast<double>(i); });
  });
  scale(4);
  EXPECT_EQ(y.get(4, 5), 6);
  EXPECT_EQ(y.get(0, 5), 0);
  EXPECT_THAT(ErrorOf([&] { blocks.CountActive(); }),
              HasSubstr("dense (SNode 2) has no cells to activate"));
}

TEST(DslTest, TreesThatAreWrong) {
  Tree tree;
  const SNode list = tree.root().dynamic("i", 8);
  const TreeField<float, 2> x(list);
  EXPECT_THAT(ErrorOf([&] { x.get(0, 0); }),
              HasSubstr("the SNodes above the field have 1 axes, expected 2"));
  EXPECT_THAT(ErrorOf([&] { TreeField<int, 1>(list).get(0); }), HasSubstr("can no longer grow"));

  const TreeField<float, 1> y(Tree().root().pointer("i", {8}));
  EXPECT_THAT(ErrorOf([&] { y.get(8); }), HasSubstr("index 8 of axis 0 of a field with 8"));
  EXPECT_THAT(ErrorOf([] { Tree().root().dense("ij", {8}); }),
              HasSubstr("dense: axes 'ij' with 1 extents"));
  EXPECT_THAT(ErrorOf([] { TreeField<int, 1>(Tree().root().dense("x", {8})).get(0); }),
              HasSubstr("axes 'x': expected letters from 'i' to 't'"));
  EXPECT_THAT(ErrorOf([] {
                const Tree bad;
                bad.root().dynamic("i", 8).pointer("i", {2});
                bad.Finish();
              }),
              HasSubstr("SNode"));
  const int line = __LINE__ + 1;  // of the macro
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { Append(y, 1); }); }),
              HasSubstr("dsl.cc:" + std::to_string(line) +
                        ": append of a pointer SNode, which has no such op"));
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { Activate(y.parent(), 1, 2); }); }),
              HasSubstr("activate takes 1 indices, got 2"));
}

TEST(DslTest, ElementsOfFields) {
  Field<Vec<float, 2>, 2> v({3, 4});
  v.set({1, 2}, 1, 3);
  EXPECT_THAT(v.get(1, 3), ElementsAre(1, 2));
  EXPECT_THAT(v.get(1, 2), ElementsAre(0, 0));
  v.set({0, 7}, 0, 0);
  Kernel twice("twice", [&] { ForEach(v, [&](Int i, Int j) { v(i, j) = v(i, j) * 2; }); });
  twice();
  twice();
  Sync();
  EXPECT_THAT(v.get(1, 3), ElementsAre(4, 8));
  EXPECT_EQ(v.get(0, 0)[1], 28);
  std::vector<Vec<float, 2>> all(12);
  v.CopyTo(all.data());
  EXPECT_THAT(all[7], ElementsAre(4, 8));
  all[11] = {3, 5};
  v.CopyFrom(all.data());
  twice();
  EXPECT_THAT(v.get(2, 3), ElementsAre(6, 10));
  EXPECT_THAT(v.get(1, 3), ElementsAre(8, 16)) << "after a write to others";
  EXPECT_THAT(ErrorOf([&] { v.get(3, 0); }), HasSubstr("index 3 of axis 0 of a field with 3"));
  EXPECT_THAT(ErrorOf([&] { v.set({0, 0}, 0, -1); }), HasSubstr("index -1 of axis 1"));
  const std::string on_device = "in memory of a CUDA device";
  EXPECT_THAT(ErrorOf([&] { v.at(1, 3)[0] = 9; }), HasSubstr(OnCuda() ? on_device : "no error"));
  EXPECT_THAT(ErrorOf([&] { v.data(); }), HasSubstr(OnCuda() ? on_device : "no error"));
  EXPECT_EQ(v.get(1, 3)[0], OnCuda() ? 8 : 9);
}

TEST(DslTest, FillsOfFields) {
  Field<float, 1> x({1000});
  Field<Vec<double, 3>, 2> v({5, 7});
  Field<bool, 1> b({3});
  Kernel twice("twice", [&] {
    ForEach(x, [&](Int i) { x[i] *= 2; });
    ForEach(v, [&](Int i, Int j) { v(i, j) = v(i, j) * 2; });
  });
  x.set(9, 1);
  x.Fill(1.5f);
  v.Fill({1, 2, 3});
  b.Fill(true);
  twice();
  EXPECT_EQ(x.get(1), 3);
  EXPECT_EQ(x.get(999), 3);
  EXPECT_THAT(v.get(4, 6), ElementsAre(2, 4, 6));
  EXPECT_TRUE(b.get(2));
  v.device_data();
  v.Fill({0, 1, 0});
  twice();
  EXPECT_THAT(v.get(0, 0), ElementsAre(0, 2, 0));
}

TEST(DslTest, FieldsAsArguments) {
  Kernel add("add", [](Array<float, 2> to, Array<float, 2> from) {
    ForEach(to, [&](Int i, Int j) { to(i, j) += from(i, j) + to.shape(1); });
  });
  Field<float, 2> x({2, 3}), y({2, 3});
  x.set(5, 1, 2);
  y.set(0.5f, 1, 2);
  add(y, x);
  EXPECT_EQ(y.get(1, 2), 8.5f);
  std::vector<float> numbers(6, 1);
  add({numbers.data(), {2, 3}}, y);
  EXPECT_EQ(numbers[5], 12.5f);
  add(x, {numbers.data(), {2, 3}});
  EXPECT_EQ(x.get(1, 2), 20.5f);
  add(x, x);
  EXPECT_EQ(x.get(1, 2), 44);

  Kernel both("both",
              [&](Array<float, 2> to) { ForEach(x, [&](Int i, Int j) { to(i, j) = x(i, j); }); });
  both(y);
  EXPECT_EQ(y.get(1, 2), 44);
  EXPECT_THAT(ErrorOf([&] { both(x); }), HasSubstr("shares memory with a field"));
  EXPECT_THAT(ErrorOf([&] { both({x.device_data(), {2, 3}}); }),
              HasSubstr("shares memory with a field"));
}

TEST(DslTest, AddressesOfTheDevice) {
  Field<float, 1> x({100}), y({100});
  x.set(1, 3);
  Kernel copy("copy", [](Array<float, 1> to, Array<float, 1> from) {
    ForEach(to, [&](Int i) { to[i] = from[i] + 1; });
  });
  copy({y.device_data(), {100}}, {x.device_data(), {100}});
  EXPECT_EQ(y.get(3), 2);
  EXPECT_EQ(y.get(4), 1);
  y.set(5, 4);
  copy({x.device_data(), {100}}, {y.device_data(), {100}});
  EXPECT_EQ(x.get(4), 6);
}

TEST(DslTest, ThreadsShareFields) {
  Field<int, 1> x({4096});
  const auto add = [&](int from, int to) {
    Kernel k("k", [&] { ForEach(Range({from, to}), [&](Int i) { x[i] += 1; }); });
    for (int i = 0; i < 50; ++i) k();
  };
  std::thread first(add, 0, 2000), second(add, 2000, 4095);
  for (int i = 0; i < 50; ++i) {
    x.set(i, 4095);
    EXPECT_EQ(x.get(4095), i);
  }
  first.join();
  second.join();
  for (int i = 0; i < 4095; ++i) ASSERT_EQ(x.get(i), 50) << i;
}

TEST(DslTest, DevicesAreNotMixed) {
  EXPECT_THAT(ErrorOf([] { Use(OnArch("vulkan")); }),
              HasSubstr("no arch 'vulkan': expected \"cpu\" or \"cuda\""));
  if (!OnCuda()) return;
  Field<float, 1> there({8});
  const TreeField<float, 1> cells(Tree().root().pointer("i", {8}));
  Use(OnArch("cpu"));
  Field<float, 1> here({8});
  const int line = __LINE__ + 1;  // of the macro
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { there[0] = here[0]; }); }),
              HasSubstr("dsl.cc:" + std::to_string(line) +
                        ": the kernel is for the CPU, and uses a field on CUDA device 0"));
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { cells(0) = 1; }); }),
              HasSubstr("uses a field on CUDA device 0"));
  Kernel set("set", [](Array<float, 1> x) { x[0] = 1; });
  EXPECT_THAT(
      ErrorOf([&] { set(there); }),
      HasSubstr("the field for parameter 0 is on CUDA device 0, the kernel is for the CPU"));
  set(here);
  Use(OnArch("cuda"));
  EXPECT_EQ(here.get(0), 1);
  there.set(2, 1);
  EXPECT_EQ(there.get(1), 2) << "still usable";
}

TEST(DslTest, ForkedProcesses) {
  Field<int, 1> x({8});
  x.set(3, 1);
  const pid_t child = fork();
  if (child == 0) {
    const std::string error = ErrorOf([&] { x.set(4, 1); });
    _exit(error == "no error" ? 0 : error.find("fork") != std::string::npos ? 1 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), OnCuda() ? 1 : 0) << "CUDA does not work in forked processes";
  EXPECT_EQ(x.get(1), 3);
}

TEST(DslTest, FunctionsOfVectors) {
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

TEST(DslTest, FunctionsOfMatrices) {
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

TEST(DslTest, Decompositions) {
  CheckDecompositions<float, 2>(3e-6);
  CheckDecompositions<double, 2>(1e-13);
  CheckDecompositions<float, 3>(3e-6);
  CheckDecompositions<double, 3>(1e-13);
}

TEST(DslTest, FunctionsOfNumbers) {
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

TEST(DslTest, VectorsOfThePrograms) {
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
      HasSubstr("dsl.cc:" + std::to_string(line) + ": the number 300 does not fit i8"));
}

TEST(DslTest, VectorsOfIndices) {
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
  Service service = OnArch(OnCuda() ? "cuda" : "cpu");
  service.debug = true;
  Use(service);
  Kernel far("far", [&](Value<Vec<int, 2>> by) {
    line = __LINE__ + 1;
    x(by) = 1;
  });
  EXPECT_THAT(ErrorOf([&] { far({1, 5}); }),
              HasSubstr("index (1, 5) of shape (4, 5) at " __FILE__ ":" + std::to_string(line)));
  Use(OnArch(OnCuda() ? "cuda" : "cpu"));
}

TEST(DslTest, Gradients) {
  Field<double, 1> x({5}, kGrad), y({5}, kGrad);
  Kernel cube("cube", [&](Array<double, 1> by, Value<double> plus) {
    ForEach(x, [&](Int i) { y[i] += by[i] * x[i] * x[i] * x[i] + plus; });
  });
  for (int i = 0; i < 5; ++i) {
    x.set(i, i);
    y.grad().set(10 - i, i);
  }
  x.grad().set(1000, 2);
  std::vector<double> by = {1, 2, 3, 4, 5};
  cube(by, 3);
  cube.Grad(by, 3);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(y.get(i), by[i] * i * i * i + 3);
    EXPECT_EQ(x.grad().get(i), (i == 2 ? 1000 : 0) + (10 - i) * by[i] * 3 * i * i) << i;
    EXPECT_EQ(by[i], i + 1);
  }
  EXPECT_THAT(ErrorOf([&] { Field<float, 1>({3}).grad(); }),
              HasSubstr("Field<T, N>(shape, kGrad)"));
}

TEST(DslTest, GradientsOfArrays) {
  Field<double, 1> y({3}, kGrad);
  Kernel square("square", [&](Array<double, 1> x, Value<double> by, Array<double, 1> plus) {
    ForEach(x, [&](Int i) { y[i] += by * x[i] * x[i] + plus[i]; });
  });
  Field<double, 1> in({3}, kGrad), more({3}, kGrad);
  for (int i = 0; i < 3; ++i) in.set(i + 1, i);
  std::vector<double> plus = {10, 20, 30}, slope(3);
  const auto refill = [&] {
    for (int i = 0; i < 3; ++i) y.grad().set(i + 1, i);
  };
  square(in, 2, more);
  EXPECT_EQ(y.get(2), 18);
  refill();
  square.Grad(in, 2, plus);
  EXPECT_EQ(in.grad().get(2), 3 * 2 * 2 * 3);
  square.Grad(in, 2, more);
  EXPECT_EQ(more.grad().get(1), 2);
  EXPECT_EQ(in.grad().get(2), 2 * 3 * 2 * 2 * 3);
  square.Grad(in, 2, {plus, slope});
  EXPECT_THAT(slope, ElementsAre(1, 2, 3));
  std::vector<double> xs = {1, 2, 3}, x_slope(3);
  square.Grad({xs, x_slope}, 0.5, more);
  EXPECT_THAT(x_slope, ElementsAre(1, 4, 9));
  square.Grad({xs.data(), {2}, x_slope.data()}, 0.5, plus);
  EXPECT_THAT(x_slope, ElementsAre(2, 8, 9));
  square(xs, 1, plus);
  EXPECT_EQ(y.get(2), 18 + 9 + 30) << "still a kernel";

  EXPECT_THAT(ErrorOf([&] { square.Grad(in, 1, in); }),
              HasSubstr("the array for parameter 0 and the array for parameter 2 share memory"));
  EXPECT_THAT(ErrorOf([&] { square.Grad(in, 1, in.grad()); }), HasSubstr("share memory"));
  EXPECT_THAT(ErrorOf([&] { square.Grad({xs, xs}, 1, plus); }), HasSubstr("share memory"));
  std::vector<double> two(2);
  EXPECT_THAT(ErrorOf([&] { square.Grad({xs, two}, 1, plus); }),
              HasSubstr("an array of 3 elements with a gradient of 2"));
  if (!OnCuda()) return;
  EXPECT_THAT(ErrorOf([&] { square.Grad({in.device_data(), {3}, slope.data()}, 1, plus); }),
              HasSubstr("are not both in memory of the host or of the device"));
}

// As a double buffer has them.
TEST(DslTest, TapesOfArrays) {
  constexpr int kSteps = 6, kCells = 8;
  std::vector<Field<float, 1>> states;
  for (int i = 0; i <= kSteps; ++i) {
    states.emplace_back(std::array<std::uint64_t, 1>{kCells}, kGrad);
  }
  Field<float, 0> loss({}, kGrad);
  Kernel step("step", [&](Array<float, 1> to, Array<float, 1> from, Value<float> by) {
    ForEach(to, [&](Int i) { to[i] = by * from[i] * from[(i + 1) % kCells]; });
  });
  Kernel measure("measure", [&](Array<float, 1> x) { ForEach(x, [&](Int i) { loss() += x[i]; }); });
  const auto run = [&] {
    for (int i = 0; i < kSteps; ++i) step(states[i + 1], states[i], i == 0 ? 1.5f : 0.9f);
    measure(states[kSteps]);
  };
  const auto fill = [&](int at, float more) {
    for (int i = 0; i < kCells; ++i) {
      states[0].set(1.05f + 0.01f * static_cast<float>(i) + (i == at ? more : 0), i);
    }
  };
  Tape tape;
  for (int attempt = 0; attempt < 2; ++attempt) {
    fill(3, 0);
    for (const Field<float, 1>& state : states) state.grad().Fill(77);
    tape.Run(loss, run);
    const float got = states[0].grad().get(3);
    float ends[2];
    for (int side = 0; side < 2; ++side) {
      fill(3, side == 0 ? -0.005f : 0.005f);
      loss.set(0);
      run();
      ends[side] = loss.get();
    }
    EXPECT_NEAR(got, (ends[1] - ends[0]) / 0.01f, 0.02f * got) << got;
  }

  std::vector<float> x(kCells, 2), x_grad(kCells, 9);
  const std::string of_host = ErrorOf([&] { tape.Run(loss, [&] { measure({x, x_grad}); }); });
  if (OnCuda()) {
    EXPECT_THAT(of_host, HasSubstr("with an array of the host"));
    float* const grad = states[1].grad().device_data();
    tape.Run(loss, [&] { measure({states[0].device_data(), {kCells}, grad}); });
    EXPECT_EQ(states[1].grad().get(2), 1) << "cleared";
  } else {
    EXPECT_EQ(of_host, "no error");
    EXPECT_THAT(x_grad, Each(1)) << "cleared";
  }

  EXPECT_THAT(ErrorOf([&] {
                tape.Run(loss, [&] {
                  step(states[1], states[0], 1);
                  step(states[0], states[1], 1);
                  measure(states[0]);
                });
              }),
              HasSubstr("which a later launch of it may have overwritten"));
  Kernel descend("descend", [](Array<float, 1> of, Array<float, 1> slope) {
    ForEach(of, [&](Int i) { of[i] -= 0.1f * slope[i]; });
  });
  descend(states[0], states[0].grad());
  EXPECT_THAT(ErrorOf([&] { tape.Run(loss, [&] { descend(states[0], states[0].grad()); }); }),
              HasSubstr("share memory"));
}

TEST(DslTest, GradientsOfTrees) {
  Tree tree;
  const SNode block = tree.root().pointer("i", {4});
  const SNode cell = block.dense("i", {4});
  const TreeField<float, 1> x(cell, kGrad), by(cell);
  const TreeField<Vec<float, 2>, 1> v(cell, kGrad);
  const TreeField<float, 1> all(tree.root().dense("i", {16}), kGrad);  // no sparse SNodes
  Field<float, 0> loss({}, kGrad);
  Kernel fill("fill", [&] {
    ForEach(x, [&](Int i) {
      v(i) = Vector<float>(x(i) * x(i), by(i) * x(i));
      all(i) = 3 * x(i);
    });
  });
  Kernel measure("measure", [&] {
    ForEach(v, [&](Int i) { loss() += v(i)[0] + 10 * v(i)[1] + 100 * all(i); });
  });
  for (const int i : {2, 5, 13}) {
    x.set(static_cast<float>(i), i);
    by.set(0.5f, i);
    x.grad().set(77, i);  // cleared by the tape
  }
  EXPECT_EQ(block.CountActive(), 3);
  Tape tape;
  for (int attempt = 0; attempt < 2; ++attempt) {
    tape.Run(loss, [&] {
      fill();
      measure();
    });
    for (const int i : {2, 5, 13}) EXPECT_EQ(x.grad().get(i), 2.0f * i + 5 + 300) << i;
    EXPECT_EQ(x.grad().get(3), 300) << "of an active cell";
    EXPECT_EQ(x.grad().get(8), 0);
  }
  EXPECT_EQ(block.CountActive(), 3);
  v.grad().set({1, 0}, 5);
  x.grad().set(1, 5);
  fill.Grad();
  EXPECT_EQ(x.grad().get(5), 11);

  Kernel descend("descend", [&] {
    const TreeField<float, 1> slope = x.grad();
    ForEach(x, [&](Int i) { x(i) -= 0.01f * slope(i); });
  });
  descend();
  EXPECT_THAT(ErrorOf([&] { tape.Run(loss, [&] { descend(); }); }),
              HasSubstr("the kernel uses a field and that field's gradient"));
  EXPECT_THAT(ErrorOf([&] { by.grad(); }), HasSubstr("TreeField<T, N>(parent, kGrad)"));
  EXPECT_THAT(ErrorOf([&] {
                tape.Run(loss, [&] {
                  measure();
                  fill();
                  measure();
                  descend();
                });
              }),
              HasSubstr("the kernel uses a field and that field's gradient"));
}

TEST(DslTest, TapesOfTreesKeepAndRefuse) {
  Field<double, 1> total({1}, kGrad);
  Field<double, 0> loss({}, kGrad);
  Tape tape;
  std::vector<double> slopes;
  tape.Record([&] {
    Tree tree;  // the tape keeps it
    const SNode cells = tree.root().bitmasked("ij", {8, 8});
    const TreeField<double, 2> x(cells, kGrad);
    x.set(3, 1, 2);
    x.set(4, 7, 7);
    Kernel sum("sum", [&] {
      ForEach(x, [&](Int i, Int j) { total[0] += x(i, j) * x(i, j) * Cast<double>(j); });
    });
    sum();
    Kernel get("get", [&] { loss() += total[0] * total[0]; });
    get();
  });
  tape.ClearGradients();
  loss.grad().set(1);
  tape.Gradients();
  EXPECT_EQ(total.grad().get(0), 2 * (9 * 2 + 16 * 7));

  Tree tree;
  const TreeField<double, 1> x(tree.root().pointer("i", {4}).dense("i", {4}), kGrad);
  x.set(2, 3);
  int line = 0;
  Kernel measure("measure", [&] {
    ForEach(x, [&](Int i) {
      line = __LINE__ + 1;
      loss() += x(i) * x(i);
    });
  });
  Kernel move("move", [&] { ForEach(x, [&](Int i) { x(i) += 1; }); });
  const std::string error = ErrorOf([&] {
    tape.Run(loss, [&] {
      measure();
      move();
    });
  });
  EXPECT_THAT(error, HasSubstr("which the later kernel 'move' may have overwritten"));
  EXPECT_THAT(error, HasSubstr("dsl.cc:" + std::to_string(line)));
}

TEST(DslTest, ArraysWithoutDerivatives) {
  int line = 0;
  Kernel square("square", [&](Array<float, 1> x) {
    ForEach(x, [&](Int i) {
      line = __LINE__ + 1;
      x[i] = x[i] * x[i];
    });
  });
  Field<float, 1> x({4}, kGrad);
  x.Fill(3);
  square(x);
  EXPECT_EQ(x.get(0), 9);
  const std::string error = ErrorOf([&] { square.Grad(x); });
  EXPECT_THAT(error, HasSubstr("square: the gradient of this kernel needs the value"));
  EXPECT_THAT(error, HasSubstr("dsl.cc:" + std::to_string(line)));
  square(x);
  EXPECT_EQ(x.get(0), 81) << "it runs";
}

TEST(DslTest, Tapes) {
  Field<float, 2> x({3, 4}, kGrad), halves({3, 4}, kGrad);
  Field<float, 0> loss({}, kGrad);
  Kernel halve("halve", [&] { ForEach(x, [&](Int i, Int j) { halves(i, j) = x(i, j) / 2; }); });
  Kernel measure("measure", [&](Value<float> by) {
    ForEach(halves, [&](Int i, Int j) { loss() += by * halves(i, j) * halves(i, j); });
  });
  Kernel descend("descend", [&] {
    Field<float, 2> slope = x.grad();
    ForEach(x, [&](Int i, Int j) { x(i, j) -= 0.5 * slope(i, j); });
  });
  x.set(4, 1, 2);
  Tape tape;
  for (int attempt = 0; attempt < 2; ++attempt) {
    x.grad().set(77, 1, 2);  // cleared by the tape
    tape.Run(loss, [&] {
      halve();
      measure(2.0f);
    });
    EXPECT_EQ(x.grad().get(1, 2), attempt == 0 ? 4 : 2) << "twice x / 2";
    EXPECT_EQ(x.grad().get(1, 1), 0);
    EXPECT_EQ(loss.get(), attempt == 0 ? 8 : 2);
    descend();
    EXPECT_EQ(x.get(1, 2), attempt == 0 ? 2 : 1);
  }

  tape.Record([&] {
    halve();
    Field<float, 2> gone({3, 4}, kGrad);  // the tape keeps it
    Kernel add("add", [&] { ForEach(x, [&](Int i, Int j) { gone(i, j) = 3 * x(i, j); }); });
    add();
  });
  tape.ClearGradients();
  halves.grad().set(5, 0, 0);
  tape.Gradients();
  EXPECT_EQ(x.grad().get(0, 0), 2.5f);
  EXPECT_THAT(ErrorOf([&] { tape.Gradients(); }), HasSubstr("recorded nothing since"));
  EXPECT_THAT(ErrorOf([&] { tape.Run(loss, [&] { descend(); }); }),
              HasSubstr("the kernel uses a field and that field's gradient"));
}

TEST(DslTest, TapesThatRefuse) {
  Field<float, 1> x({4}, kGrad);
  Field<float, 0> loss({}, kGrad), plain({});
  int line = 0;
  Kernel measure("measure", [&] {
    ForEach(x, [&](Int i) {
      line = __LINE__ + 1;
      loss() += x[i] * x[i];
    });
  });
  Kernel move("move", [&] { ForEach(x, [&](Int i) { x[i] += 1; }); });
  Tape tape;
  const std::string error = ErrorOf([&] {
    tape.Run(loss, [&] {
      measure();
      move();
    });
  });
  EXPECT_THAT(error, HasSubstr("gradients may be wrong: the gradient of kernel 'measure' reads"));
  EXPECT_THAT(error, HasSubstr("dsl.cc:" + std::to_string(line)));
  EXPECT_THAT(error, HasSubstr("which the later kernel 'move' may have overwritten"));
  Tape(Overwritten::kIgnored).Run(loss, [&] {
    measure();
    move();
  });

  EXPECT_THAT(ErrorOf([&] { tape.Run(plain, [] {}); }),
              HasSubstr("the loss of the tape has no gradient"));
  EXPECT_THAT(ErrorOf([&] { tape.Run(loss, [&] { Tape().Run(loss, [] {}); }); }),
              HasSubstr("a tape within the body of another one"));
  EXPECT_THROW(tape.Run(loss, [] { throw 7; }), int);
  x.grad().set(5, 0);
  EXPECT_THAT(ErrorOf([&] {
                tape.Run(loss, [&] {
                  measure();
                  throw Error(KILN_ABORTED, "of the program");
                });
              }),
              "of the program");
  EXPECT_EQ(x.grad().get(0), 5) << "as it was";

  Kernel scale("scale",
               [&](Array<float, 1> by) { ForEach(by, [&](Int i) { loss() += by[i] * x[i]; }); });
  tape.Run(loss, [&] {
    for (float by : {1.0f, 2.0f}) {
      Field<float, 1> gone({4});  // the tape keeps it
      gone.Fill(by);
      scale(gone);
    }
    std::vector<Field<float, 1>> others;  // one of them gets memory that a field has freed
    for (int i = 0; i < 50; ++i) {
      others.emplace_back(std::array<std::uint64_t, 1>{4});
      others.back().Fill(100);
    }
  });
  EXPECT_EQ(x.grad().get(2), 3);
  std::vector<float> by(4, 2);
  const std::string of_host = ErrorOf([&] { tape.Run(loss, [&] { scale(by); }); });
  EXPECT_THAT(of_host, HasSubstr(OnCuda() ? "with an array of the host" : "no error"));
  if (!OnCuda()) {
    EXPECT_EQ(x.grad().get(3), 2);
  }
}

TEST(DslTest, KernelsWithoutGradients) {
  Field<float, 1> x({4}, kGrad);
  Kernel plain("plain", [](Array<float, 1> y) { y[0] = 1; });
  std::vector<float> y(4);
  EXPECT_THAT(ErrorOf([&] { plain.Grad(y); }),
              HasSubstr("no array that it is given, has a gradient"));
  const TreeField<float, 1> cells(Tree().root().pointer("i", {4}));
  Kernel both("both", [&] { ForEach(cells, [&](Int i) { x[i] = cells(i); }); });
  both();
  x.grad().Fill(2);
  cells.set(1, 1);
  both.Grad();
  EXPECT_EQ(x.grad().get(1), 0) << "the kernel stores to it";
  EXPECT_EQ(x.grad().get(0), 2) << "this cell is not active";
  int line = 0;
  Kernel square("square", [&] {
    ForEach(x, [&](Int i) {
      line = __LINE__ + 1;
      x[i] = x[i] * x[i];
    });
  });
  x.set(3, 0);
  square();
  EXPECT_EQ(x.get(0), 9) << "it runs";
  const std::string error = ErrorOf([&] { square.Grad(); });
  EXPECT_THAT(error, HasSubstr("square: the gradient of this kernel needs the value"));
  EXPECT_THAT(error, HasSubstr("dsl.cc:" + std::to_string(line)));
}

TEST(DslTest, StaticObjectsOutliveMain) {
  static Field<float, 1> x({1000});
  static Kernel add("add", [] { ForEach(x, [](Int i) { x[i] += 1; }); });
  add();
  x.set(x.get(3) + 5, 3);
  EXPECT_EQ(x.get(3), 6);
  add();  // it may run while the two are destroyed
}

// In a process of its own: the device is of no use afterwards.
TEST(DslTest, DISABLED_IllegalAddress) {
  Field<float, 1> x({16});
  Kernel far("far", [&](Value<int> n) { x[n] = 1; });
  far(400'000'000);
  const std::string error = ErrorOf([] { Sync(); });
  EXPECT_THAT(error, HasSubstr("an illegal memory access was encountered, in kernel `far`"));
  EXPECT_THAT(ErrorOf([&] { x.get(0); }), HasSubstr("illegal memory access"));
  EXPECT_THAT(ErrorOf([&] { far(0); }), HasSubstr("illegal memory access"));
}

TEST(DslTest, OptionsThatMakeNoSense) {
  const auto error_of = [](auto set) {
    Service service = OnArch(OnCuda() ? "cuda" : "cpu");
    set(service);
    return ErrorOf([&] { Use(service); });
  };
  EXPECT_THAT(error_of([](Service& of) { of.cpu_max_num_threads = -1; }),
              HasSubstr("cpu_max_num_threads=-1: expected a number of threads"));
  EXPECT_THAT(error_of([](Service& of) { of.snode_memory_GB = -0.5; }),
              HasSubstr("snode_memory_GB=-0.5: expected a number of gigabytes"));
  EXPECT_THAT(error_of([](Service& of) { of.snode_memory_GB = 1e300; }), HasSubstr("gigabytes"));
  EXPECT_THAT(error_of([](Service& of) { of.ad_tape_GB = std::nan(""); }),
              HasSubstr("ad_tape_GB=nan: expected a number of gigabytes"));
  for (const int number : {-1, 100}) {
    const std::string text = error_of([&](Service& of) { of.cuda_device = number; });
    EXPECT_THAT(text,
                HasSubstr(OnCuda() ? "no CUDA device " + std::to_string(number) : "no error"));
  }
  Field<float, 1> x({4});
  Kernel one("one", [&] { ForEach(x, [&](Int i) { x[i] = 1; }); });
  one();
  EXPECT_EQ(x.get(3), 1) << "the device before is in use";
}

TEST(DslTest, RandomNumbersFollowFromTheSeed) {
  const auto draw = [](std::int64_t seed) {
    Service service = OnArch(OnCuda() ? "cuda" : "cpu");
    service.random_seed = seed;
    service.cpu_max_num_threads = 1;
    Use(service);
    Field<float, 1> x({100});
    Kernel fill("fill", [&] { ForEach(x, [&](Int i) { x[i] = Random<float>(); }); });
    fill();
    fill();
    std::vector<float> all(100);
    x.CopyTo(all.data());
    return all;
  };
  const std::vector<float> first = draw(7);
  EXPECT_EQ(draw(7), first);
  EXPECT_NE(draw(-8), first);
  Use(OnArch(OnCuda() ? "cuda" : "cpu"));
}

TEST(DslTest, MemoryOfTrees) {
  Service service = OnArch(OnCuda() ? "cuda" : "cpu");
  service.snode_memory_GB = 0.01;
  Use(service);
  Tree tree;
  const SNode block = tree.root().pointer("i", {64});
  const TreeField<float, 1> x(block.dense("i", {1 << 18}));  // 1 MiB each
  Use(OnArch(OnCuda() ? "cuda" : "cpu"));                    // the tree keeps its limit
  Kernel touch("touch", [&](Value<int> n) { For(Range(n), [&](Int i) { x(i * (1 << 18)) = 1; }); });
  touch(6);
  EXPECT_EQ(block.CountActive(), 6);
  EXPECT_THAT(ErrorOf([&] {
                touch(64);
                Sync();
              }),
              HasSubstr("memory"));
}

TEST(DslTest, ChecksOfIndicesAlone) {
  Service service = OnArch(OnCuda() ? "cuda" : "cpu");
  service.check_out_of_bound = true;
  Use(service);
  Field<int, 1> x({4});
  Kernel set("set", [&](Value<int> n) {
    Assert(n < 2, "not checked");
    x[n] = 7;
  });
  set(3);
  EXPECT_EQ(x.get(3), 7);
  EXPECT_THAT(ErrorOf([&] { set(4); }), HasSubstr("(4)"));
  Use(OnArch(OnCuda() ? "cuda" : "cpu"));
}

TEST(DslTest, OptionsOfCode) {
  const auto key = [](auto set) {
    Service service = OnArch(OnCuda() ? "cuda" : "cpu");
    set(service);
    Use(service);
    Kernel k("k", [](Array<float, 1> x) { ForEach(x, [&](Int i) { x[0] += x[i]; }); });
    return k.program().key();
  };
  const std::string usual = key([](Service&) {});
  EXPECT_NE(key([](Service& of) { of.fast_math = false; }), usual);
  EXPECT_EQ(key([](Service& of) { of.deterministic = true; }) == usual, !OnCuda());
  EXPECT_EQ(key([](Service& of) {
              of.random_seed = 5;
              of.cpu_max_num_threads = 1;
              of.snode_memory_GB = 3;
              of.ad_tape_GB = 1;
            }),
            usual);
  Use(OnArch(OnCuda() ? "cuda" : "cpu"));
}

// In a process of its own, on a machine with two devices.
TEST(DslTest, DISABLED_SecondDevice) {
  Service second = OnArch("cuda");
  second.cuda_device = 1;
  Field<float, 1> x({16});
  Kernel one("one", [&] { ForEach(x, [&](Int i) { x[i] += 1; }); });
  Use(second);
  Field<float, 1> y({16});
  Kernel two("two", [&] { ForEach(y, [&](Int i) { y[i] += 2; }); });
  Kernel add("add", [](Array<float, 1> to) { ForEach(to, [&](Int i) { to[i] += 4; }); });
  one();
  two();
  add(y);
  EXPECT_EQ(x.get(15), 1);
  EXPECT_EQ(y.get(15), 6);
  EXPECT_THAT(ErrorOf([&] { Kernel both("both", [&] { x[0] = y[0]; }); }),
              HasSubstr("the kernel is for CUDA device 1, and uses a field on CUDA device 0"));
  EXPECT_THAT(ErrorOf([&] { add(x); }),
              HasSubstr("is on CUDA device 0, the kernel is for CUDA device 1"));
  EXPECT_THAT(ErrorOf([&] {
                Kernel late("late", [&](Array<float, 1> to) {
                  Use(OnArch("cuda"));
                  to[0] = 1;
                });
              }),
              HasSubstr("another device was chosen while the kernel was traced"));
  one();
  EXPECT_EQ(x.get(0), 2);
}

TEST(DslTest, LaunchesThatFail) {
  Service service = OnArch(OnCuda() ? "cuda" : "cpu");
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
  Use(OnArch(OnCuda() ? "cuda" : "cpu"));

  Kernel k("k", [](Array<float, 1> x) { ForEach(x, [&](Int i) { x[i] = 1; }); });
  EXPECT_THAT(ErrorOf([&] { k({nullptr, {4}}); }),
              HasSubstr("argument 0: no memory for an array of 4 elements"));
}

}  // namespace
