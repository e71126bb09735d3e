#include "server/remote/breaker.h"

#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

class BreakerTest : public testing::Test {
 protected:
  BreakerTest() {
    options_.failures = 3;
    options_.pause = absl::Seconds(1);
    options_.max_pause = absl::Seconds(3);
    options_.now = [this] { return now_; };
    options_.log = [this](const std::string& line) { lines_.push_back(line); };
    breaker_ = std::make_unique<Breaker>("redis", options_);
  }
  void Fail(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(breaker_->Allow());
      breaker_->Report(absl::UnavailableError("gone"));
    }
  }

  Breaker::Options options_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
  std::vector<std::string> lines_;
  std::unique_ptr<Breaker> breaker_;
};

TEST_F(BreakerTest, OpensOnlyAfterConsecutiveFailures) {
  Fail(2);
  breaker_->Report(absl::OkStatus());
  Fail(2);
  EXPECT_FALSE(breaker_->open());
  Fail(1);
  EXPECT_TRUE(breaker_->open());
  EXPECT_FALSE(breaker_->Allow());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "redis is not used for now, after 3 failures; the last: gone");
}

// A server that grants leases but never returns an entry.
TEST_F(BreakerTest, SuccessOfAnotherKindDoesNotResetFailures) {
  constexpr int kGet = 1, kLease = 2;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(breaker_->Allow());
    breaker_->Report(absl::DeadlineExceededError("slow"), kGet);
    if (i < 2) breaker_->Report(absl::OkStatus(), kLease);
  }
  EXPECT_TRUE(breaker_->open());
  now_ += absl::Seconds(1);
  EXPECT_TRUE(breaker_->Allow());
  breaker_->Report(absl::OkStatus(), kLease);
  EXPECT_TRUE(breaker_->Allow());
  breaker_->Report(absl::DeadlineExceededError("slow"), kGet);
  EXPECT_TRUE(breaker_->open()) << "it is on trial still";
}

TEST_F(BreakerTest, OneRequestPerPauseRetries) {
  Fail(3);
  now_ += absl::Seconds(1);
  EXPECT_TRUE(breaker_->Allow());
  EXPECT_FALSE(breaker_->Allow());
  breaker_->Report(absl::OkStatus());
  EXPECT_TRUE(breaker_->Allow());
  EXPECT_TRUE(breaker_->Allow());
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1], "redis is used again");
}

TEST_F(BreakerTest, PausesDoubleUpToALimit) {
  Fail(3);
  for (const int seconds : {1, 2, 3, 3}) {
    now_ += absl::Seconds(seconds) - absl::Milliseconds(1);
    EXPECT_FALSE(breaker_->Allow());
    now_ += absl::Milliseconds(1);
    Fail(1);
  }
  EXPECT_EQ(lines_.size(), 1u);  // said once
}

TEST_F(BreakerTest, AnswersAreNotFailures) {
  for (int i = 0; i < 10; ++i) breaker_->Report(absl::NotFoundError("none"));
  EXPECT_FALSE(breaker_->open());
}

TEST_F(BreakerTest, AnIncompatibleServerOpensItImmediately) {
  breaker_->Report(absl::FailedPreconditionError("another compiler"));
  EXPECT_TRUE(breaker_->open());
  EXPECT_EQ(lines_, std::vector<std::string>{"redis is not used for now: another compiler"});
}

// Requests that began before the breaker opened must not count as the trial.
TEST_F(BreakerTest, LateFailuresDoNotLengthenThePause) {
  Fail(3);
  for (int i = 0; i < 10; ++i) breaker_->Report(absl::UnavailableError("late"));
  now_ += absl::Seconds(1);
  EXPECT_TRUE(breaker_->Allow());
}

}  // namespace
}  // namespace kiln
