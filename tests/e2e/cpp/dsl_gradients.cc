// Gradients of kernels, and tapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kiln/dsl.hpp>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnCuda;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GradientTest, Gradients) {
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

TEST(GradientTest, GradientsOfArrays) {
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
TEST(GradientTest, TapesOfArrays) {
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

TEST(GradientTest, GradientsOfTrees) {
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

TEST(GradientTest, TapesOfTreesKeepAndRefuse) {
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
  EXPECT_THAT(error, HasSubstr(__FILE__ ":" + std::to_string(line)));
}

TEST(GradientTest, ArraysWithoutDerivatives) {
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
  EXPECT_THAT(error, HasSubstr(__FILE__ ":" + std::to_string(line)));
  square(x);
  EXPECT_EQ(x.get(0), 81) << "it runs";
}

TEST(GradientTest, Tapes) {
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

TEST(GradientTest, TapesThatRefuse) {
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
  EXPECT_THAT(error, HasSubstr(__FILE__ ":" + std::to_string(line)));
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

TEST(GradientTest, KernelsWithoutGradients) {
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
  EXPECT_THAT(error, HasSubstr(__FILE__ ":" + std::to_string(line)));
}

}  // namespace
