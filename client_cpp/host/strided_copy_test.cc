#include "client_cpp/host/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace kiln {
namespace {

// The plain loops that CopyStrided must agree with.
void CopyPlainly(uint8_t* to, const uint8_t* from, const std::vector<CopyAxis>& axes, size_t axis,
                 size_t size) {
  if (axis == axes.size()) {
    std::memcpy(to, from, size);
    return;
  }
  for (int64_t i = 0; i < axes[axis].extent; ++i) {
    CopyPlainly(to + i * axes[axis].to_stride, from + i * axes[axis].from_stride, axes, axis + 1,
                size);
  }
}

// Axes of random extents whose two sides are dense in random orders.
std::vector<CopyAxis> RandomAxes(std::mt19937* random, size_t size, int64_t* bytes) {
  const size_t count = (*random)() % 5;
  std::vector<CopyAxis> axes(count);
  std::vector<size_t> to_order(count), from_order(count);
  for (size_t a = 0; a < count; ++a) {
    axes[a].extent = 1 + (*random)() % (a == 0 ? 40 : 7);
    to_order[a] = from_order[a] = a;
  }
  std::shuffle(to_order.begin(), to_order.end(), *random);
  std::shuffle(from_order.begin(), from_order.end(), *random);
  auto to = static_cast<int64_t>(size), from = to;
  for (size_t a = 0; a < count; ++a) {
    axes[to_order[a]].to_stride = to;
    to *= axes[to_order[a]].extent;
    axes[from_order[a]].from_stride = from;
    from *= axes[from_order[a]].extent;
  }
  *bytes = to;
  return axes;
}

TEST(StridedCopyTest, AgreesWithPlainLoops) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const size_t sizes[] = {1, 2, 4, 8, 12, 16, 20};
    const size_t size = sizes[round % 7];
    int64_t bytes;
    const std::vector<CopyAxis> axes = RandomAxes(&random, size, &bytes);
    std::vector<uint8_t> from(bytes), to(bytes, 1), expected(bytes, 1);
    for (uint8_t& b : from) b = static_cast<uint8_t>(random());
    CopyPlainly(expected.data(), from.data(), axes, 0, size);
    CopyStrided(to.data(), from.data(), axes, size);
    ASSERT_EQ(to, expected) << "round " << round;
  }
}

TEST(StridedCopyTest, LeavesGapsUnchanged) {
  std::vector<uint8_t> to(64, 7), from(64, 1);
  CopyStrided(to.data(), from.data(), {{4, 16, 4}, {2, 8, 1}}, 4);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(to[i], i % 8 < 4 ? 1 : 7) << i;
  const uint32_t value = 0x02020202;
  FillStrided(to.data(), &value, {{4, 16, 0}, {2, 8, 0}}, 4);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(to[i], i % 8 < 4 ? 2 : 7) << i;
}

TEST(StridedCopyTest, FillsEverySize) {
  for (size_t size : {1, 2, 4, 8}) {
    std::vector<uint8_t> to(24 * size, 1);
    const uint64_t value = 0x0909090909090909;
    FillStrided(to.data(), &value,
                {{6, static_cast<int64_t>(size), 0}, {4, static_cast<int64_t>(6 * size), 0}}, size);
    EXPECT_EQ(to, std::vector<uint8_t>(24 * size, 9)) << size;
  }
}

TEST(StridedCopyTest, CopiesNothingForAnEmptyAxis) {
  uint8_t to = 1, from = 2;
  CopyStrided(&to, &from, {{0, 1, 1}}, 1);
  FillStrided(&to, &from, {{0, 1, 1}, {3, 1, 1}}, 1);
  EXPECT_EQ(to, 1);
}

}  // namespace
}  // namespace kiln
