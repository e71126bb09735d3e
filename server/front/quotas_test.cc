#include "server/front/quotas.h"

#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/wire/error_detail.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

bool Never() { return false; }

TEST(Quotas, ConcurrentRequests) {
  Quotas quotas({.running = 2});
  const auto account = quotas.Of("a");
  Quotas::Hold one, two, three;
  EXPECT_TRUE(account->TakeRun(&one).ok());
  EXPECT_TRUE(account->TakeRun(&two).ok());
  const absl::Status refused = account->TakeRun(&three);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(PartOf(refused), "quota");
  EXPECT_GT(RetryAfterOf(refused), absl::ZeroDuration());
  EXPECT_TRUE(absl::StrContains(refused.message(), "limits.running")) << refused;
  Quotas::Hold other;
  EXPECT_TRUE(quotas.Of("b")->TakeRun(&other).ok()) << "each has its own";
  one = Quotas::Hold();
  EXPECT_TRUE(account->TakeRun(&three).ok());
}

TEST(Quotas, BytesWaitForRoom) {
  Quotas quotas({.bytes_in_flight = 100});
  const auto account = quotas.Of("a");
  Quotas::Hold large;
  // Exceeds the limit, but nothing else is in flight.
  ASSERT_TRUE(account->TakeBytes(500, absl::Now(), Never, &large).ok());
  Quotas::Hold small;
  EXPECT_EQ(PartOf(account->TakeBytes(1, absl::Now(), Never, &small)), "quota");
  EXPECT_TRUE(absl::IsCancelled(
      account->TakeBytes(1, absl::InfiniteFuture(), [] { return true; }, &small)));
  std::thread ends([&large] {
    absl::SleepFor(absl::Milliseconds(30));
    large = Quotas::Hold();
  });
  EXPECT_TRUE(account->TakeBytes(1, absl::Now() + absl::Seconds(10), Never, &small).ok());
  ends.join();
}

TEST(Quotas, BytesOfAllCallersTogether) {
  Quotas quotas({.bytes_in_flight = 100});
  Quotas::Hold holds[5];
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(quotas.Of(std::to_string(i))->TakeBytes(100, absl::Now(), Never, &holds[i]).ok());
  }
  EXPECT_FALSE(quotas.Of("4")->TakeBytes(100, absl::Now(), Never, &holds[4]).ok());
}

TEST(Quotas, CompilationsPerMinute) {
  Quotas quotas({.compiles_per_minute = 60});
  const auto account = quotas.Of("a");
  const absl::Time start = absl::Now();
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(account->CheckCompiles(start).ok()) << i;
    account->CountCompile(start);
  }
  const absl::Status refused = account->CheckCompiles(start);
  EXPECT_EQ(PartOf(refused), "quota");
  EXPECT_NEAR(absl::ToDoubleSeconds(RetryAfterOf(refused)), 1, 0.1);
  EXPECT_FALSE(account->CheckCompiles(start + absl::Milliseconds(500)).ok());
  EXPECT_TRUE(account->CheckCompiles(start + absl::Milliseconds(1100)).ok());
  EXPECT_TRUE(account->CheckCompiles(start - absl::Hours(1)).ok()) << "the clock went back";
}

TEST(Quotas, ForgetsCallersThatLeft) {
  Quotas quotas({});
  for (int i = 0; i < 10000; ++i) quotas.Of(std::to_string(i));
  EXPECT_LT(quotas.accounts(), 200u);
}

}  // namespace
}  // namespace kiln
