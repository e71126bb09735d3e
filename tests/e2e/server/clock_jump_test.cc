// Sets the machine's clock ahead and back by days: waits and temporary refusals must not be
// affected. The test controls the time of day of kilnd and its child processes; their monotonic
// clocks continue, as on a real machine.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/wire/error_detail.h"
#include "gtest/gtest.h"
#include "tests/e2e/server/cluster_fixture.h"

namespace kiln {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

class ClockJumpTest : public ClusterTest {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime has to be loaded before the clock";
    Jump(absl::ZeroDuration());
  }
  void StartShifted(int count, const std::string& config) {
    const std::string kilnd = KilndPath();
    const std::string top = kilnd.substr(0, kilnd.rfind("/server/daemon/"));
    setenv("LD_PRELOAD", (top + "/tests/e2e/server/libshifted_clock.so").c_str(), 1);
    setenv("KILN_TEST_CLOCK", TempPath("clock").c_str(), 1);
    StartKilnds(count, config);
    unsetenv("LD_PRELOAD");
    unsetenv("KILN_TEST_CLOCK");
    // Otherwise the test would show nothing.
    Jump(2 * kDay);
    EXPECT_TRUE(Client(0).Compile("clock", 999).ok());
    EXPECT_NEAR(absl::ToDoubleHours(Ahead()), 48, 0.1);
    Jump(absl::ZeroDuration());
  }
  // Sets all clocks `by` ahead of the true time; negative: behind it.
  void Jump(absl::Duration by) {
    const int64_t shift = absl::ToInt64Nanoseconds(by);
    const int fd = open(TempPath("clock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(pwrite(fd, &shift, sizeof shift, 0), static_cast<ssize_t>(sizeof shift));
    close(fd);
  }
  // Of the first kilnd's clock at its last request.
  absl::Duration Ahead() {
    TestClient client = Client(0);
    const auto recent = client.Call<proto::RecentReply>(FrameType::kRecent, proto::RecentRequest());
    if (!recent.ok() || recent->requests().empty()) return absl::ZeroDuration();
    double latest = 0;
    for (const auto& request : recent->requests()) latest = std::max(latest, request.time());
    return absl::FromUnixSeconds(0) + absl::Seconds(latest) - absl::Now();
  }
};

TEST_F(ClockJumpTest, CompilationsContinue) {
  StartShifted(1, "");
  uint64_t seed = 0;
  for (const absl::Duration by : {kDay, -kDay, absl::ZeroDuration()}) {
    // One client compiles, one waits for the same key, one is in the queue.
    std::vector<std::thread> threads;
    const size_t before = Jobs().size();
    ++seed;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        TestClient client = Client(0);
        const auto made = client.Compile("sleep 400", 10 * seed + i / 2, /*deadline_ms=*/20000);
        EXPECT_TRUE(made.ok()) << made.status() << " with the clock " << by << " off";
      });
    }
    AwaitJobs(before + 2);
    Jump(by);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Jobs().size(), before + 2);
  }
  EXPECT_EQ(Client(0).Stats()->worker_deaths(), 0u);
}

TEST_F(ClockJumpTest, DeadlinesAreKept) {
  StartShifted(1, "");
  uint64_t seed = 0;
  for (const absl::Duration by : {-kDay, kDay, absl::ZeroDuration()}) {
    const absl::Time start = absl::Now();
    std::thread waits([&] {
      const absl::Status late = Client(0).Compile("sleep 60000", ++seed, 600).status();
      EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
    });
    AwaitJobs(1 + seed + 1);
    Jump(by);
    waits.join();
    EXPECT_GE(absl::Now() - start, absl::Milliseconds(600));
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  }
}

TEST_F(ClockJumpTest, QuotasDoNotGrow) {
  StartShifted(1, "limits { compiles_per_minute: 3 }");
  TestClient client = Client(0);  // starting took one of the quota
  for (int seed = 0; seed < 2; ++seed) ASSERT_TRUE(client.Compile("x", seed).ok());
  for (const absl::Duration by : {kDay, -kDay, absl::ZeroDuration()}) {
    Jump(by);
    const absl::Status refused = client.Compile("x", 3).status();
    EXPECT_EQ(PartOf(refused), "quota") << "with the clock " << by << " off: " << refused;
    EXPECT_LT(RetryAfterOf(refused), absl::Minutes(1));
  }
}

TEST_F(ClockJumpTest, TemporaryRefusalsStay) {
  StartShifted(1, "");
  TestClient client = Client(0);
  EXPECT_EQ(PartOf(client.Compile("die", 1).status()), "kernel");
  for (const absl::Duration by : {kDay, -kDay, absl::ZeroDuration()}) {
    Jump(by);
    const absl::Status refused = client.Compile("die", 1).status();
    EXPECT_GT(RetryAfterOf(refused), absl::Minutes(9)) << refused;
    EXPECT_LE(RetryAfterOf(refused), absl::Minutes(10)) << refused;
  }
  EXPECT_EQ(Client(0).Stats()->worker_deaths(), 2u);
}

TEST_F(ClockJumpTest, IdleConnectionsStay) {
  StartShifted(1, "");
  Jump(kDay);
  absl::SleepFor(absl::Seconds(1));
  EXPECT_TRUE(Client(0).Stats().ok());
  EXPECT_EQ(kill(Pid(0), 0), 0);
}

TEST_F(ClockJumpTest, AClusterCompilesOnce) {
  if (!RedisServer::Installed()) GTEST_SKIP() << "there is no redis-server here";
  redis_->Start();
  StartShifted(2, RedisConfig("lease_ms: 500"));
  uint64_t seed = 0;
  for (const absl::Duration by : {kDay, -kDay, absl::ZeroDuration()}) {
    const size_t before = Jobs().size();
    ++seed;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const auto made = Client(i % 2).Compile("sleep 1500", seed);
        EXPECT_TRUE(made.ok()) << made.status();
      });
    }
    AwaitJobs(before + 1);
    Jump(by);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Jobs().size(), before + 1) << "with the clock " << by << " off";
  }
}

}  // namespace
}  // namespace kiln
