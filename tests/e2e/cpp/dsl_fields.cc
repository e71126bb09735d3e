// Dense fields: their elements, fills, addresses, and as arguments of kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kiln/dsl.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnCuda;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FieldTest, ElementsOfFields) {
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

TEST(FieldTest, FillsOfFields) {
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

TEST(FieldTest, FieldsAsArguments) {
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

TEST(FieldTest, AddressesOfTheDevice) {
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

TEST(FieldTest, ThreadsShareFields) {
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

}  // namespace
