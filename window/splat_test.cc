#include "window/splat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kiln::window {
namespace {

constexpr int kWidth = 37, kHeight = 50, kStride = kWidth + kSplatMargin;

class SplatTest : public testing::Test {
 protected:
  uint32_t At(int x, int y) const {
    const uint8_t* at = rgba_.data() + 4 * (y * kStride + x);
    return at[0] | at[1] << 8 | at[2] << 16 | static_cast<uint32_t>(at[3]) << 24;
  }

  static Points Discs(std::vector<float> positions, float radius) {
    Points made;
    made.count = static_cast<int64_t>(positions.size()) / 2;
    made.positions = std::move(positions);
    made.color[0] = made.color[3] = 1;
    made.radius = radius;
    return made;
  }

  std::vector<uint8_t> rgba_ = std::vector<uint8_t>(4 * kStride * kHeight);
  std::vector<float> depths_ = std::vector<float>(kStride * kHeight);
  const Pixels to_ = {kWidth, kHeight, kStride, rgba_.data(), depths_.data()};
  Splatter splatter_;
};

TEST_F(SplatTest, TheLastDiscIsAboveOthers) {
  std::vector<float> positions;
  for (int i = 0; i < 20000; ++i) positions.insert(positions.end(), {0.5, 0.5});
  Points discs = Discs(positions, 1.5);
  discs.colors.assign(4 * discs.count, 1);
  discs.colors[4 * discs.count - 3] = 0;
  ASSERT_TRUE(splatter_.Discs(discs, to_));
  EXPECT_EQ(At(18, 25), 0xFFFF00FF);
  EXPECT_EQ(At(18, 28), 0u);
}

TEST_F(SplatTest, DiscsAtEdgesAreCutAndOthersLeftOut) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Points discs =
      Discs({0, 0, 1, 1, 9, 0.5, -1e30, 0.5, NAN, 0.5, infinity, -infinity, 0.5, 1e38}, 1.5);
  ASSERT_TRUE(splatter_.Discs(discs, to_));
  EXPECT_EQ(At(0, 0), 0xFF0000FF);
  EXPECT_EQ(At(kWidth - 1, kHeight - 1), 0xFF0000FF);
  int drawn = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) drawn += At(x, y) != 0 ? 1 : 0;
  }
  EXPECT_EQ(drawn, 6);  // three pixels in each of two corners
}

TEST_F(SplatTest, ColorsAreBounded) {
  Points discs = Discs({0.5, 0.5, 0.1, 0.1}, 1.5);
  discs.colors = {NAN, -1, 7, 2, 1, 1, 1, NAN};
  ASSERT_TRUE(splatter_.Discs(discs, to_));
  EXPECT_EQ(At(18, 25), 0xFFFF0000);
  EXPECT_EQ(At(3, 5), 0u);
}

TEST_F(SplatTest, LargeDiscsAreForTheGraphicsLibrary) {
  EXPECT_FALSE(splatter_.Discs(Discs({0.5, 0.5}, 10), to_));
  EXPECT_FALSE(splatter_.Discs(Discs({0.5, 0.5}, std::numeric_limits<float>::infinity()), to_));
  EXPECT_EQ(At(18, 25), 0u);
}

TEST_F(SplatTest, TheNearestSphereIsSeenAndLit) {
  View view = {};
  for (int i = 0; i < 4; ++i) view.view[5 * i] = 1;
  // An orthographic projection of [-1, 1], whose depth is 1 at z = 0 and 0 at z = -10.
  view.projection[0] = view.projection[5] = view.projection[15] = 1;
  view.projection[10] = 0.1F;
  view.projection[14] = 1;
  view.lights.push_back({{0, 0, 10}, {1, 1, 1}});
  Points spheres = Discs({}, 0.1F);
  spheres.count = 4;
  // Before, behind, behind the camera and beyond the far plane.
  spheres.positions = {0, 0, -2, 0, 0, -5, 0, 0, 1, 0, 0, -11};
  ASSERT_TRUE(splatter_.Spheres(spheres, view, to_));
  EXPECT_NEAR(depths_[25 * kStride + 18], 1 - 0.19, 0.005);
  EXPECT_GT(At(18, 25) & 255, 240u);
  EXPECT_EQ(At(18, 25) >> 8, 0xFF0000u);
  EXPECT_EQ(At(18, 30), 0u);
}

}  // namespace
}  // namespace kiln::window
