#include "runtime/private_copies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace kiln {
namespace {

using Number = ScatterInfo::Number;

// Two fields: `floats` in slot 1, as many as slot 2 says, and `ints`, of which there are seven.
struct Fields {
  std::vector<float> floats = std::vector<float>(10'001, -0.0f);
  std::vector<int16_t> ints = std::vector<int16_t>(7, 5);
  std::vector<uint64_t> arguments = {77, reinterpret_cast<uint64_t>(floats.data()), floats.size(),
                                     reinterpret_cast<uint64_t>(ints.data())};
  std::vector<ScatterInfo> scatters = {{1, sizeof(float), 2, Number::kF32},
                                       {3, 7 * sizeof(int16_t), 0, Number::kI16}};
};

TEST(PrivateCopiesTest, CopiesAreAddedUpAndCleared) {
  Fields fields;
  EXPECT_EQ(BytesOf(fields.scatters, fields.arguments.data()), 4u * 10'001 + 14);
  auto copies = PrivateCopies::Make(fields.scatters, fields.arguments.data(), 4, 3);
  ASSERT_NE(copies, nullptr);
  KilnContext context = {};
  context.arguments = fields.arguments.data();
  constexpr int kLaunches = 3;
  for (int launch = 0; launch < kLaunches; ++launch) {
    copies->Start(context);
    PrivateCopies::Copy& a = copies->Take();
    PrivateCopies::Copy& b = copies->Take();
    EXPECT_NE(&a, &b);
    for (const PrivateCopies::Copy* copy : {&a, &b}) {
      EXPECT_EQ(copy->context.arguments[0], 77u);
      EXPECT_EQ(copy->context.arguments[2], fields.floats.size());
      EXPECT_EQ(copy->context.alone, 1u);
      auto* floats = reinterpret_cast<float*>(copy->context.arguments[1]);
      EXPECT_NE(floats, fields.floats.data());
      floats[0] += 1;
      for (int i = 5000; i < 6000; ++i) floats[i] += 0.5f;
      floats[10'000] += 2;
      reinterpret_cast<int16_t*>(copy->context.arguments[3])[6] -= 1;
      EXPECT_EQ(fields.floats[5000], static_cast<float>(launch));
    }
    PrivateCopies::GiveBack(a);
    PrivateCopies::GiveBack(b);
    copies->Merge(nullptr, 2);
    EXPECT_EQ(fields.floats[5000], static_cast<float>(launch) + 1);
  }
  EXPECT_EQ(fields.floats[0], 2.0f * kLaunches);
  EXPECT_EQ(fields.floats[10'000], 4.0f * kLaunches);
  EXPECT_EQ(fields.ints, (std::vector<int16_t>{5, 5, 5, 5, 5, 5, 5 - 2 * kLaunches}));
  // What no copy has added to is as it was, bit by bit.
  EXPECT_TRUE(std::signbit(fields.floats[1]));
}

TEST(PrivateCopiesTest, ThreadsHoldDifferentCopies) {
  Fields fields;
  constexpr int kThreads = 4, kTurns = 10'000;
  auto copies = PrivateCopies::Make(fields.scatters, fields.arguments.data(), 4, kThreads);
  ASSERT_NE(copies, nullptr);
  KilnContext context = {};
  context.arguments = fields.arguments.data();
  copies->Start(context);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTurns; ++i) {
        PrivateCopies::Copy& copy = copies->Take();
        reinterpret_cast<float*>(copy.context.arguments[1])[3] += 1;
        PrivateCopies::GiveBack(copy);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  copies->Merge(nullptr, 1);
  EXPECT_EQ(fields.floats[3], static_cast<float>(kThreads * kTurns));
}

TEST(PrivateCopiesTest, SuitLaunchesOfTheSameSizes) {
  Fields fields;
  auto copies = PrivateCopies::Make(fields.scatters, fields.arguments.data(), 4, 2);
  ASSERT_NE(copies, nullptr);
  EXPECT_TRUE(copies->Suit(fields.arguments.data(), 2));
  EXPECT_FALSE(copies->Suit(fields.arguments.data(), 3));
  fields.arguments[2] -= 1;
  EXPECT_FALSE(copies->Suit(fields.arguments.data(), 2));
  fields.arguments[2] = ~uint64_t{0} / 2;
  EXPECT_EQ(BytesOf(fields.scatters, fields.arguments.data()), ~uint64_t{0});
}

}  // namespace
}  // namespace kiln
