#include "runtime/device_lib/device_lib.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <thread>
#include <vector>

namespace {

// The first `count` numbers of stream `index`.
std::vector<uint64_t> Numbers(uint64_t launch, uint64_t task, uint64_t index, int count) {
  KilnRandom stream;
  kiln_random_start(&stream, launch, task, index);
  std::vector<uint64_t> numbers(count);
  for (uint64_t& x : numbers) x = kiln_random_u64(&stream);
  return numbers;
}

TEST(Random, FloatsAreUniformBelowOne) {
  KilnRandom stream;
  kiln_random_start(&stream, 1, 0, 0);
  double sum = 0, sum64 = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const float f = kiln_random_f32(&stream);
    const double d = kiln_random_f64(&stream);
    ASSERT_TRUE(f >= 0 && f < 1);
    ASSERT_TRUE(d >= 0 && d < 1);
    sum += f;
    sum64 += d;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(sum64 / kCount, 0.5, 0.005);
}

// A function of random numbers, whose neighbouring arguments differ in few bits.
using Row = std::function<uint64_t(uint64_t)>;

// Checks that each bit is set half the time, and that each pair of bits of neighbouring numbers is
// equal half the time.
void ExpectBitsAreIndependent(const Row& row) {
  constexpr int kCount = 1 << 16;
  // None of 64 x 128 counts of a fair coin deviates more than this.
  constexpr double kMostOff = 6 * 128;
  std::vector<int> ones(64), equal(64 * 64);
  uint64_t last = row(kCount);
  for (int i = 0; i < kCount; ++i) {
    const uint64_t x = row(i);
    for (int b = 0; b < 64; ++b) ones[b] += x >> b & 1;
    for (int shift = 0; shift < 64; ++shift) {
      const uint64_t same = ~(x ^ (last << shift | (shift > 0 ? last >> (64 - shift) : 0)));
      for (int b = 0; b < 64; ++b) equal[64 * shift + b] += same >> b & 1;
    }
    last = x;
  }
  for (const int n : ones) EXPECT_NEAR(n, kCount / 2, kMostOff);
  for (const int n : equal) EXPECT_NEAR(n, kCount / 2, kMostOff);
}

TEST(Random, NeighboursAreIndependent) {
  const uint64_t launch = 0x0123456789abcdefu;
  const std::vector<uint64_t> serial = Numbers(launch, 1, 0, (1 << 16) + 1);
  ExpectBitsAreIndependent([&](uint64_t i) { return serial[i]; });
  // Neighbouring iterations, also distant ones; tasks; launches with unmixed numbers.
  ExpectBitsAreIndependent([&](uint64_t i) { return Numbers(launch, 1, i, 1)[0]; });
  ExpectBitsAreIndependent([&](uint64_t i) { return Numbers(launch, 1, i, 3)[2]; });
  ExpectBitsAreIndependent([&](uint64_t i) { return Numbers(launch, 1, i << 32, 1)[0]; });
  ExpectBitsAreIndependent([&](uint64_t i) { return Numbers(launch, i, 7, 1)[0]; });
  ExpectBitsAreIndependent([&](uint64_t i) { return Numbers(i, 1, 7, 1)[0]; });
}

TEST(Random, NoTwoStreamsMeet) {
  std::set<uint64_t> seen;
  int count = 0;
  for (const uint64_t launch : {1u, 2u, 3u}) {
    for (uint64_t index = 0; index < 2000; ++index) {
      for (const uint64_t x : Numbers(launch, 1, index, 20)) seen.insert(x), ++count;
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(Random, FillsTheUnitSquareEvenly) {
  constexpr int kSide = 64, kCount = kSide * kSide * 64;
  std::vector<int> cells(kSide * kSide);
  for (int i = 0; i < kCount; ++i) {
    KilnRandom stream;
    kiln_random_start(&stream, 42, 1, i);
    const auto x = static_cast<int>(kiln_random_f32(&stream) * kSide);
    const auto y = static_cast<int>(kiln_random_f32(&stream) * kSide);
    ++cells[x * kSide + y];
  }
  double chi = 0;
  for (const int n : cells) chi += (n - 64.0) * (n - 64.0) / 64;
  // 4095 degrees of freedom: five standard deviations of sqrt(2 * 4095).
  EXPECT_NEAR(chi, 4095, 5 * 90.5);
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
