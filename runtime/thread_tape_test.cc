#include "runtime/thread_tape.h"

#include <thread>

#include "gtest/gtest.h"

namespace kiln {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;
constexpr uint64_t kLimit = 80 * kMegabyte;

// Before the tests: a tape keeps the limit that it began with until its next launch.
const bool is_set = (ThreadTape::SetDefaultLimit(kLimit), true);

TEST(ThreadTape, HasAShareOfTheMachineByDefault) {
  EXPECT_TRUE(is_set);
  EXPECT_EQ(ThreadTape::Limit(), kLimit);
  ThreadTape::SetDefaultLimit(0);
  EXPECT_GT(ThreadTape::Limit(), 0u);
  EXPECT_NE(ThreadTape::Limit(), kLimit);
  ThreadTape::SetDefaultLimit(kLimit);
}

TEST(ThreadTape, IsAStack) {
  ThreadTape tape;
  const uint64_t launch = ThreadTape::NextLaunch();
  uint8_t* first = tape.Push(launch, 16);
  first[15] = 7;
  uint8_t* second = tape.Push(launch, 8);
  EXPECT_EQ(second, first + 16);
  EXPECT_EQ(tape.Top(8), second);
  tape.Pop(8);
  EXPECT_EQ(tape.Top(16), first);
  EXPECT_EQ(first[15], 7);
  tape.Pop(16);
  EXPECT_EQ(tape.Push(launch, 8), first);
}

TEST(ThreadTape, RefusesWhatExceedsTheLimit) {
  ThreadTape tape;
  const uint64_t launch = ThreadTape::NextLaunch();
  EXPECT_EQ(ThreadTape::Limit(), kLimit);
  EXPECT_EQ(tape.Push(launch, kLimit + 8), nullptr);
  EXPECT_EQ(tape.Push(launch, ~uint64_t{7}), nullptr);
  ASSERT_NE(tape.Push(launch, kLimit - 8), nullptr);
  EXPECT_EQ(tape.Push(launch, 16), nullptr);
  EXPECT_NE(tape.Push(launch, 8), nullptr);
}

TEST(ThreadTape, TakesANewLimitAtTheNextLaunch) {
  ThreadTape tape;
  const uint64_t launch = ThreadTape::NextLaunch();
  ASSERT_NE(tape.Push(launch, 8), nullptr);
  ThreadTape::SetLimit(kMegabyte);
  EXPECT_EQ(ThreadTape::Limit(), kMegabyte);
  EXPECT_NE(tape.Push(launch, kMegabyte), nullptr);
  const uint64_t next = ThreadTape::NextLaunch();
  EXPECT_EQ(tape.Push(next, kMegabyte + 8), nullptr);
  EXPECT_NE(tape.Push(next, kMegabyte), nullptr);
  ThreadTape::SetLimit(0);
  EXPECT_EQ(ThreadTape::Limit(), kLimit);
  EXPECT_NE(tape.Push(ThreadTape::NextLaunch(), kMegabyte + 8), nullptr);
}

TEST(ThreadTape, DropsWhatAFailedLaunchLeft) {
  ThreadTape tape;
  uint8_t* left = tape.Push(ThreadTape::NextLaunch(), kLimit);
  ASSERT_NE(left, nullptr);
  EXPECT_EQ(tape.Push(ThreadTape::NextLaunch(), kLimit), left);
}

// Freshly committed pages are zero.
TEST(ThreadTape, GivesBackLargeAmounts) {
  ThreadTape tape;
  const uint64_t launch = ThreadTape::NextLaunch();
  uint8_t* bytes = tape.Push(launch, kLimit);
  bytes[0] = bytes[kLimit - 1] = 1;
  tape.Pop(kLimit);
  EXPECT_EQ(tape.Push(launch, kLimit), bytes);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[kLimit - 1], 0);
}

TEST(ThreadTape, EachThreadHasItsOwn) {
  ThreadTape* mine = &ThreadTape::OfThread();
  EXPECT_EQ(mine, &ThreadTape::OfThread());
  std::thread([&] { EXPECT_NE(mine, &ThreadTape::OfThread()); }).join();
}

}  // namespace
}  // namespace kiln
