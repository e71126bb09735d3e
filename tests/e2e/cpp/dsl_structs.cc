// Structs of the program in kernels: values, variables, fields, trees, arrays, arguments, results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <kiln/dsl.hpp>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace kiln::dsl_test {

struct Body {
  dsl::Vec<float, 2> place, speed;
  float mass;
};

struct Color {
  std::uint8_t r, g, b;
};

// Padding after `tag`, and types of four widths.
struct Mixed {
  std::int16_t tag;
  double weight;
  Color color;
  dsl::Mat<float, 2, 2> frame;
  bool is_on;
};

}  // namespace kiln::dsl_test

KILN_STRUCT(kiln::dsl_test::Body, place, speed, mass);
KILN_STRUCT(kiln::dsl_test::Color, r, g, b);
KILN_STRUCT(kiln::dsl_test::Mixed, tag, weight, color, frame, is_on);

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::Body;
using kiln::dsl_test::Color;
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::Mixed;
using testing::ElementsAre;
using testing::HasSubstr;

Mixed MixedOf(int i) {
  const auto f = static_cast<float>(i);
  const auto u = static_cast<std::uint8_t>(i);
  return {static_cast<std::int16_t>(-i), 1e10 + i, {u, 2, 255}, {{{f, 1}, {2, f}}}, i % 2 == 1};
}

void ExpectEqual(const Mixed& a, const Mixed& b) {
  EXPECT_EQ(a.tag, b.tag);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.color.r, b.color.r);
  EXPECT_EQ(a.color.g, b.color.g);
  EXPECT_EQ(a.color.b, b.color.b);
  EXPECT_EQ(a.frame, b.frame);
  EXPECT_EQ(a.is_on, b.is_on);
}

TEST(StructTest, Fields) {
  Field<Body, 2> bodies({3, 4});
  bodies.Fill({{1, 2}, {3, 4}, 5});
  bodies.set({{10, 20}, {30, 40}, 50}, 2, 1);
  Kernel step("step", [&](Value<float> dt) {
    ForEach(bodies, [&](Int i, Int j) {
      auto body = bodies(i, j);
      body.place += dt * body.speed;
      If(body.mass > 10, [&] { body.speed[1] = 0; });
    });
  });
  step(0.5f);
  const Body one = bodies.get(0, 3), heavy = bodies.get(2, 1);
  EXPECT_THAT(one.place, ElementsAre(2.5f, 4));
  EXPECT_THAT(one.speed, ElementsAre(3, 4));
  EXPECT_THAT(heavy.place, ElementsAre(25, 40));
  EXPECT_THAT(heavy.speed, ElementsAre(30, 0));
  EXPECT_EQ(bodies.fields().mass.get(2, 1), 50);
  EXPECT_EQ(bodies.size(), 12u);

  std::vector<Body> all(12);
  bodies.CopyTo(all.data());
  EXPECT_THAT(all[9].place, ElementsAre(25, 40));
  all[0].mass = -1;
  bodies.CopyFrom(all.data());
  EXPECT_EQ(bodies.get(0, 0).mass, -1);
  EXPECT_THAT(ErrorOf([&] { bodies.get(3, 0); }), HasSubstr("index 3 of axis 0"));
}

// A kernel has parameters for the members that it uses, and no others.
TEST(StructTest, KernelsTakeTheMembersThatTheyUse) {
  Field<Body, 1> bodies({8});
  Field<float, 1> mass({8});
  Kernel of_struct("grow", [&] { ForEach(Range(8), [&](Int i) { bodies[i].mass += 1; }); });
  Kernel of_field("grow", [&] { ForEach(Range(8), [&](Int i) { mass[i] += 1; }); });
  EXPECT_EQ(of_struct.program().key(), of_field.program().key());
}

TEST(StructTest, ValuesAndVariables) {
  Field<Body, 1> bodies({2});
  Kernel k("k", [&] {
    const auto alias = bodies[0];
    Expr before = bodies[0];
    Var<Body> local = bodies[0];
    local.mass *= 3;
    Var copy = local;
    copy.place = Vector<float>(7, 8);
    bodies[0].mass = 100;
    bodies[1] = copy;
    bodies[1].speed = Vector<float>(alias.mass, before.mass);
    Var<Body> zeros;
    zeros.mass += local.mass;
    bodies[0] = zeros;
  });
  bodies.set({{1, 2}, {3, 4}, 5}, 0);
  k();
  EXPECT_THAT(bodies.get(0).place, ElementsAre(0, 0));
  EXPECT_EQ(bodies.get(0).mass, 15);
  EXPECT_THAT(bodies.get(1).place, ElementsAre(7, 8));
  EXPECT_THAT(bodies.get(1).speed, ElementsAre(100, 5));
  EXPECT_EQ(bodies.get(1).mass, 15);
}

TEST(StructTest, AssignmentsReadBeforeTheyWrite) {
  Field<Body, 1> bodies({2});
  bodies.set({{1, 2}, {3, 4}, 5}, 0);
  bodies.set({{6, 7}, {8, 9}, 10}, 1);
  Kernel swap("swap", [&] {
    Expr first = bodies[0];
    bodies[0] = bodies[1];
    bodies[1] = first;
    bodies[1].mass = 0.5;
  });
  swap();
  EXPECT_THAT(bodies.get(0).speed, ElementsAre(8, 9));
  EXPECT_THAT(bodies.get(1).speed, ElementsAre(3, 4));
  EXPECT_EQ(bodies.get(1).mass, 0.5f);
}

TEST(StructTest, ArraysArePartsOfTheProgramsMemory) {
  Kernel k("k", [](Array<Mixed, 1> x, Array<Mixed, 1> y, Value<Mixed> added) {
    ForEach(x, [&](Int i) {
      y[i] = x[i];
      y[i].tag += added.tag;
      y[i].weight = x[i].weight + added.weight;
      y[i].color.g = added.color.b;
      y[i].frame = MatMul(x[i].frame, added.frame);
      y[i].frame(1, 0) += 1;
      y[i].is_on = x[i].is_on != added.is_on;
    });
  });
  std::vector<Mixed> x, y(5, Mixed{});
  for (int i = 0; i < 5; ++i) x.push_back(MixedOf(i));
  k(x, y, {100, 0.5, {1, 2, 3}, {{{0, 1}, {1, 0}}}, true});
  for (int i = 0; i < 5; ++i) {
    ExpectEqual(x[i], MixedOf(i));
    Mixed expected = MixedOf(i);
    expected.tag = static_cast<std::int16_t>(100 - i);
    expected.weight += 0.5;
    expected.color.g = 3;
    const auto f = static_cast<float>(i);
    expected.frame = {{{1, f}, {f + 1, 2}}};
    expected.is_on = i % 2 == 0;
    ExpectEqual(y[i], expected);
  }
  std::vector<Mixed> same(6);
  for (int i = 0; i < 6; ++i) same[i] = MixedOf(i);
  k({same.data(), {3}}, {same.data() + 3, {3}}, {0, 0, {0, 0, 2}, {{{1, 0}, {0, 1}}}, false});
  EXPECT_EQ(same[5].tag, -2);
  EXPECT_EQ(same[2].color.g, 2);
  EXPECT_EQ(same[5].color.g, 2);
}

TEST(StructTest, ArraysWithSeveralAxes) {
  Kernel k("k", [](Array<Color, 2> image) {
    ForEach(image, [&](Int i, Int j) {
      image(i, j).g = image(i, j).r + Cast<std::uint8_t>(i * image.shape(1) + j);
    });
  });
  std::vector<Color> image(6, Color{10, 20, 30});
  k({image.data(), {2, 3}});
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(image[i].r, 10);
    EXPECT_EQ(image[i].g, 10 + i);
    EXPECT_EQ(image[i].b, 30);
  }
}

TEST(StructTest, ResultsAndFunctions) {
  Function mirrored([](Value<Body> body) {
    Var<Body> made = body;
    made.speed = -body.speed;
    return made;
  });
  Field<Mixed, 1> data({4});
  for (int i = 0; i < 4; ++i) data.set(MixedOf(i), i);
  Kernel mirror("mirror", [&](Value<Body> body) { return mirrored(mirrored(mirrored(body))); });
  Kernel read("read", [&](Value<int> i) {
    Expr read = data[i];
    return read;
  });
  const Body got = mirror({{1, 2}, {3, 4}, 5});
  EXPECT_THAT(got.place, ElementsAre(1, 2));
  EXPECT_THAT(got.speed, ElementsAre(-3, -4));
  EXPECT_EQ(got.mass, 5);
  for (int i = 0; i < 4; ++i) ExpectEqual(read(i), MixedOf(i));
}

TEST(StructTest, Constants) {
  Field<Body, 1> bodies({3});
  const Body start = {{1, 2}, {3, 4}, 0.1f};
  Kernel k("k", [&] { ForEach(bodies, [&](Int i) { bodies[i] = start; }); });
  k();
  EXPECT_THAT(bodies.get(2).speed, ElementsAre(3, 4));
  EXPECT_EQ(bodies.get(1).mass, 0.1f);
}

TEST(StructTest, Trees) {
  Tree tree;
  SNode block = tree.root().pointer("ij", {8, 8});
  TreeField<Body, 2> bodies(block.dense("ij", {4, 4}));
  bodies.set({{1, 2}, {3, 4}, 5}, 9, 30);
  Kernel copy("copy", [&] {
    ForEach(bodies, [&](Int i, Int j) {
      If(bodies(i, j).mass > 0, [&] { bodies(i, j - 10) = bodies(i, j); });
    });
  });
  copy();
  EXPECT_EQ(block.CountActive(), 2u);
  EXPECT_THAT(bodies.get(9, 20).speed, ElementsAre(3, 4));
  EXPECT_EQ(bodies.get(0, 0).mass, 0);

  Tree lists;
  SNode list = lists.root().dynamic("i", 64, 16);
  TreeField<Mixed, 1> items(list);
  Kernel append("append", [&](Value<Mixed> item) {
    ForEach(Range(10), [&](Int i) {
      Var<Mixed> made = item;
      made.weight = Cast<double>(i);
      Append(items, made);
    });
  });
  append(MixedOf(3));
  std::vector<double> weights;
  for (int i = 0; i < 10; ++i) {
    Mixed item = items.get(i);
    weights.push_back(item.weight);
    item.weight = MixedOf(3).weight;
    ExpectEqual(item, MixedOf(3));
  }
  EXPECT_THAT(weights, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(StructTest, Gradients) {
  Field<Body, 1> bodies({4}, kGrad);
  Field<float, 0> loss({}, kGrad);
  for (int i = 0; i < 4; ++i) {
    const auto f = static_cast<float>(i);
    bodies.set({{f, 1}, {2, f}, 3}, i);
  }
  Kernel energy("energy", [&] {
    ForEach(bodies, [&](Int i) {
      loss() += 0.5f * bodies[i].mass * NormSqr(bodies[i].speed) + bodies[i].place[1];
    });
  });
  Tape tape;
  tape.Run(loss, [&] { energy(); });
  const Body slope = bodies.grad().get(3);
  EXPECT_THAT(slope.place, ElementsAre(0, 1));
  EXPECT_THAT(slope.speed, ElementsAre(6, 9));
  EXPECT_EQ(slope.mass, 6.5f);
}

}  // namespace
