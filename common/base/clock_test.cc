#include "common/base/clock.h"

#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(ClockTest, IsNearTheTimeOfDayAndAdvances) {
  const absl::Time before = SteadyNow();
  EXPECT_LT(absl::AbsDuration(before - absl::Now()), absl::Seconds(1));
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_GE(SteadyNow() - before, absl::Milliseconds(20));
  EXPECT_LT(absl::AbsDuration(TimeOfDay(before + absl::Hours(1)) - absl::Now() - absl::Hours(1)),
            absl::Seconds(1));
}

TEST(ClockTest, PausesForItsTimeOrUntilItIsStopped) {
  absl::Mutex mutex;
  bool stop = false;
  const absl::Time start = SteadyNow();
  mutex.Lock();
  PauseUnless(stop, absl::Milliseconds(40), &mutex);
  EXPECT_GE(SteadyNow() - start, absl::Milliseconds(40));
  std::thread stopper([&] {
    absl::MutexLock lock(&mutex);
    stop = true;
  });
  PauseUnless(stop, absl::Hours(1), &mutex);
  mutex.Unlock();
  stopper.join();
  EXPECT_LT(SteadyNow() - start, absl::Seconds(30));
}

}  // namespace
}  // namespace kiln
