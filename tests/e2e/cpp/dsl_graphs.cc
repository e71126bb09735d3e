// Captured graphs: launches that are recorded once, and repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kiln/dsl.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnCuda;
using kiln::dsl_test::OnTestArch;
using testing::HasSubstr;

// tests/e2e/cpp_test.py counts the calls of the driver.
TEST(GraphTest, LaunchesAreRepeated) {
  Field<float, 1> x({1000}), y({1000});
  Kernel add("add", [&](Value<float> n) { ForEach(x, [&](Int i) { x[i] += n; }); });
  Kernel twice("twice", [&] { ForEach(x, [&](Int i) { y[i] += 2 * x[i]; }); });
  Graph step([&] {
    add(1);
    twice();
    add(0.5f);
  });
  EXPECT_EQ(x.get(7), 0) << "nothing has run";
  add(100);  // other arguments than those of the graph
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(x.get(7), 130);
  EXPECT_EQ(y.get(7), 2 * (101 * 20 + 1.5f * 190));
  x.Fill(0);  // what the program writes between runs is there for the next one
  step();
  EXPECT_EQ(x.get(999), 1.5f);
}

TEST(GraphTest, KeepsWhatItUses) {
  std::unique_ptr<Graph> step;
  Field<int, 0> sum({});
  {
    Field<int, 1> x({64});
    x.Fill(3);
    Tree tree;
    TreeField<int, 1> cells(tree.root().pointer("i", {64}));
    Kernel count("count", [&](Array<int, 1> of) {
      ForEach(of, [&](Int i) { cells(i) += of[i]; });
      ForEach(cells, [&](Int i) { sum() += cells(i); });
    });
    step = std::make_unique<Graph>([&] { count(x); });
  }
  Graph moved = std::move(*step);
  moved();
  moved();
  EXPECT_EQ(sum.get(), 64 * (3 + 6));
}

TEST(GraphTest, GradientsAndRandomNumbers) {
  Field<float, 1> x({8}, kGrad);
  Field<float, 0> loss({}, kGrad);
  Kernel draw("draw", [&] { ForEach(x, [&](Int i) { x[i] = Random<float>(); }); });
  Kernel square("square", [&] { ForEach(x, [&](Int i) { loss() += x[i] * x[i]; }); });
  Kernel clear("clear", [&] {
    Field<float, 1> slope = x.grad();
    Field<float, 0> seed = loss.grad();
    ForEach(slope, [&](Int i) { slope[i] = 0; });
    seed() = 1;
  });
  Graph step([&] {
    draw();
    clear();
    square.Grad();
  });
  float before = -1;
  for (int i = 0; i < 3; ++i) {
    step();
    EXPECT_EQ(x.grad().get(5), 2 * x.get(5));
    EXPECT_NE(x.get(5), before);
    before = x.get(5);
  }
}

TEST(GraphTest, KernelsThatMayFail) {
  Service service = OnTestArch();
  service.debug = true;
  Use(service);
  Field<int, 1> x({4});
  Kernel next("next", [&] { x[0] += 1; });
  Kernel check("check", [&] { Assert(x[0] < 3, "x is {}", x[0]); });
  Graph step([&] {
    next();
    check();
  });
  step();
  step();
  EXPECT_THAT(ErrorOf([&] { step(); }), HasSubstr("x is 3 at " __FILE__));
  EXPECT_EQ(x.get(0), 3);
  Use(OnTestArch());
}

TEST(GraphTest, WhatAGraphCannotHave) {
  Field<int, 1> x({4});
  Field<float, 0> loss({}, kGrad);
  Kernel read("read", [&] { return Expr(x[0]); });
  EXPECT_THAT(ErrorOf([&] { Graph g([&] { read(); }); }),
              HasSubstr("kernel 'read' cannot be captured: it returns a value"));
  Kernel set("set", [](Array<int, 1> of) { ForEach(of, [&](Int i) { of[i] = 1; }); });
  std::vector<int> own(4);
  EXPECT_THAT(
      ErrorOf([&] { Graph g([&] { set(own); }); }),
      HasSubstr(OnCuda() ? "the array for parameter 0 is in memory of the host" : "no error"));
  EXPECT_THAT(ErrorOf([&] { Graph g([&] { Graph inner([] {}); }); }),
              HasSubstr("cannot be recorded within the recording of another one"));
  Graph nothing([] {});
  nothing();
  EXPECT_THAT(ErrorOf([&] { Tape().Run(loss, [&] { nothing(); }); }),
              HasSubstr("cannot be run within the body of a tape"));
  EXPECT_THAT(ErrorOf([&] { Graph g([&] { Tape().Run(loss, [] {}); }); }),
              HasSubstr("a tape cannot record"));
  EXPECT_THROW(Graph g([&] { throw std::runtime_error("the body's own"); }), std::runtime_error);
  EXPECT_THAT(ErrorOf([&] {
                Graph g([&] { EXPECT_THAT(ErrorOf([&] { read(); }), HasSubstr("returns")); });
              }),
              HasSubstr("kernel 'read' cannot be captured"));
  set(x);
  EXPECT_EQ(x.get(3), 1) << "launches take place again";
}

}  // namespace
