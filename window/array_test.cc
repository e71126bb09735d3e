#include "window/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kiln::window {
namespace {

template <typename T>
Array Of(const std::vector<T>& values, Number number, std::vector<int64_t> extents) {
  Array made;
  made.data = values.data();
  made.number = number;
  made.axes = static_cast<int>(extents.size());
  int64_t stride = sizeof(T);
  for (int axis = made.axes - 1; axis >= 0; --axis) {
    made.extents[axis] = extents[axis];
    made.strides[axis] = stride;
    stride *= extents[axis];
  }
  return made;
}

TEST(CopyFloats, FillsMissingComponents) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  std::vector<float> to(4);
  CopyFloats(Of(values, Number::kF32, {2, 3}), 1, 1, 4, to.data());
  EXPECT_EQ(to, (std::vector<float>{4, 5, 6, 1}));
  CopyFloats(Of(values, Number::kF32, {3, 2}), 2, 1, 3, to.data());
  EXPECT_EQ(to, (std::vector<float>{5, 6, 0, 1}));
}

TEST(CopyFloats, FollowsStridesAndTypes) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  Array transposed = Of(values, Number::kF64, {2, 3});
  std::swap(transposed.extents[0], transposed.extents[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  std::vector<float> to(6);
  CopyFloats(transposed, 0, 3, 2, to.data());
  EXPECT_EQ(to, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  transposed.strides[0] = -8;  // backwards, from the third column
  transposed.data = &values[2];
  CopyFloats(transposed, 0, 3, 2, to.data());
  EXPECT_EQ(to, (std::vector<float>{3, 6, 2, 5, 1, 4}));
}

TEST(CopyFloats, ReadsHalves) {
  const std::vector<uint16_t> halves = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x7e00, 0x8000};
  std::vector<float> to(6);
  CopyFloats(Of(halves, Number::kF16, {6}), 0, 6, 1, to.data());
  EXPECT_EQ(to[0], 1);
  EXPECT_EQ(to[1], -2);
  EXPECT_EQ(to[2], std::ldexp(1.0F, -24));
  EXPECT_EQ(to[3], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to[4]));
  EXPECT_TRUE(std::signbit(to[5]));
}

TEST(CopyIndices, FindsTheLargest) {
  const std::vector<int32_t> values = {3, 1, 2, 7, 0, 5};
  std::vector<uint32_t> to(4);
  EXPECT_EQ(CopyIndices(Of(values, Number::kI32, {3, 2}), 1, 4, to.data()), 7);
  EXPECT_EQ(to, (std::vector<uint32_t>{1, 2, 7, 0}));
  EXPECT_EQ(CopyIndices(Of(values, Number::kI32, {6}), 0, 0, to.data()), -1);
}

TEST(CopyIndices, ANegativeOneIsTheLargest) {
  const std::vector<int64_t> values = {3, -1};
  std::vector<uint32_t> to(2);
  EXPECT_EQ(CopyIndices(Of(values, Number::kI64, {2}), 0, 2, to.data()),
            std::numeric_limits<int64_t>::max());
}

TEST(CopyImage, ClipsFloats) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0, 0.5, 1, -3, 1e9F, nan, inf, -inf, 0.25};
  std::vector<uint8_t> to(12);
  CopyImage(Of(values, Number::kF32, {1, 3, 3}), to.data());
  EXPECT_EQ(to, (std::vector<uint8_t>{0, 128, 255, 255, 0, 255, 0, 255, 255, 0, 64, 255}));
}

TEST(CopyImage, ScalesIntegersAndSpreadsGrey) {
  const std::vector<uint16_t> grey = {0, 65535, 32768};
  std::vector<uint8_t> to(12);
  CopyImage(Of(grey, Number::kU16, {3, 1}), to.data());
  EXPECT_EQ(to, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255, 255, 255, 128, 128, 128, 255}));
  const std::vector<uint8_t> two = {7, 9};
  CopyImage(Of(two, Number::kU8, {1, 1, 2}), to.data());
  EXPECT_EQ(std::vector<uint8_t>(to.begin(), to.begin() + 4), (std::vector<uint8_t>{7, 9, 0, 255}));
}

}  // namespace
}  // namespace kiln::window
