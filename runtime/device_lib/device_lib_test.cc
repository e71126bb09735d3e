#include "runtime/device_lib/device_lib.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace {

TEST(Random, FloatsAreUniformBelowOne) {
  uint32_t state[16] = {123456789, 362436069, 521288629, 88675123};
  double sum = 0, sum64 = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const float f = kiln_random_f32(state);
    const double d = kiln_random_f64(state);
    ASSERT_TRUE(f >= 0 && f < 1);
    ASSERT_TRUE(d >= 0 && d < 1);
    sum += f;
    sum64 += d;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(sum64 / kCount, 0.5, 0.005);
}

TEST(Random, EveryBitChanges) {
  uint32_t state[16] = {1, 2, 3, 4};
  uint64_t ones = 0, zeros = 0;
  for (int i = 0; i < 200; ++i) {
    const uint64_t x = kiln_random_u64(state);
    ones |= x;
    zeros |= ~x;
  }
  EXPECT_EQ(ones, ~uint64_t{0});
  EXPECT_EQ(zeros, ~uint64_t{0});
}

TEST(Random, TouchesOnlyItsFourWords) {
  uint32_t state[16] = {1, 2, 3, 4};
  kiln_random_u64(state);
  for (int i = 4; i < 16; ++i) EXPECT_EQ(state[i], 0u);
}

TEST(Power, WrapsAndCountsExponentsUnsigned) {
  EXPECT_EQ(kiln_pow_i32(3, 5), 243u);
  EXPECT_EQ(kiln_pow_i32(0, 0), 1u);
  EXPECT_EQ(kiln_pow_i32(2, 32), 0u);
  EXPECT_EQ(kiln_pow_i64(2, 63), uint64_t{1} << 63);
  EXPECT_EQ(kiln_pow_i32(static_cast<uint32_t>(-1), 0xffffffffu), static_cast<uint32_t>(-1));
}

TEST(Power, FloatsTakeNegativeExponents) {
  EXPECT_EQ(kiln_powi_f32(2.0f, -3), 0.125f);
  EXPECT_EQ(kiln_powi_f64(1.5, 4), 5.0625);
  EXPECT_EQ(kiln_powi_f64(1.0, INT32_MIN), 1.0);
}

TEST(Atomic, AddsOfManyThreadsAllCount) {
  float sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&sum] {
      for (int i = 0; i < 10000; ++i) kiln_atomic_add_f32(&sum, 1);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sum, 40000);
}

}  // namespace
