// The queue before the workers, the keys that are refused, the look at memory, and the pool
// around a test worker.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "lang/canonical.h"
#include "lang/error_detail.h"
#include "proto/unit.pb.h"
#include "server/daemon/job_queue.h"
#include "server/daemon/memory_gauge.h"
#include "server/daemon/poison_list.h"
#include "server/daemon/worker_pool.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

TEST(JobQueue, ThoseWhomSomebodyWaitsForComeFirst) {
  JobQueue<int> queue;
  for (int i = 0; i < 3; ++i) queue.Push(100 + i, /*warm=*/true);
  for (int i = 0; i < 3; ++i) queue.Push(i, /*warm=*/false);
  EXPECT_EQ(queue.size(), 6u);
  std::vector<int> order;
  while (!queue.empty()) order.push_back(queue.Pop());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 100, 101, 102}));
}

TEST(JobQueue, NobodyStarves) {
  JobQueue<int> queue;
  queue.Push(-1, /*warm=*/true);
  int served = 0;
  do {
    queue.Push(served, /*warm=*/false);  // one comes for each that is taken
    ASSERT_LT(++served, 20);
  } while (queue.Pop() != -1);
}

TEST(JobQueue, RemovesFromBothKinds) {
  JobQueue<int> queue;
  queue.Push(1, true);
  queue.Push(2, false);
  EXPECT_TRUE(queue.Remove(1));
  EXPECT_FALSE(queue.Remove(1));
  EXPECT_TRUE(queue.Remove(2));
  EXPECT_TRUE(queue.empty());
}

TEST(PoisonList, RefusesForAWhileByName) {
  PoisonList poisons(absl::Minutes(10), 100);
  const Digest key = Sha256Of("key");
  const absl::Time now = absl::Now();
  EXPECT_TRUE(poisons.Check(key, "substep", now).ok());
  poisons.Add(key, "lost its worker", now);
  const absl::Status refused = poisons.Check(key, "substep", now + absl::Minutes(4));
  EXPECT_EQ(PartOf(refused), "kernel");
  EXPECT_EQ(RetryAfterOf(refused), absl::Minutes(6));
  EXPECT_TRUE(absl::StrContains(refused.message(), "compiling substep is refused for another 6m"))
      << refused;
  EXPECT_TRUE(poisons.Check(Sha256Of("other"), "", now).ok());
  EXPECT_TRUE(poisons.Check(key, "substep", now + absl::Minutes(11)).ok());
  EXPECT_EQ(poisons.size(), 0u);
}

TEST(PoisonList, IsBounded) {
  PoisonList poisons(absl::Minutes(10), 3);
  const absl::Time now = absl::Now();
  for (int i = 0; i < 10; ++i) poisons.Add(Sha256Of(std::to_string(i)), "died", now);
  poisons.Add(Sha256Of("9"), "died", now);  // again: still one
  EXPECT_EQ(poisons.size(), 3u);
  EXPECT_FALSE(poisons.Check(Sha256Of("9"), "", now).ok());
  EXPECT_TRUE(poisons.Check(Sha256Of("0"), "", now).ok());
}

class MemoryGaugeTest : public testing::Test {
 protected:
  MemoryGaugeTest() {
    std::string pattern = testing::TempDir() + "/gauge-XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directory(root_ + "/pressure");
    Memory(16000, 8000);
  }
  ~MemoryGaugeTest() override { fs::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(root_ + "/" + name) << text;
  }
  void Memory(int total_mb, int available_mb) {
    Write("meminfo", "MemTotal:       " + std::to_string(total_mb << 10) +
                         " kB\nMemFree: 1 kB\nMemAvailable:   " +
                         std::to_string(available_mb << 10) + " kB\n");
  }
  bool Room() const { return MemoryGauge(root_, root_).Room(); }
  std::string root_;
};

TEST_F(MemoryGaugeTest, OfTheMachine) {
  EXPECT_TRUE(Room());
  Memory(16000, 400);
  EXPECT_FALSE(Room());
  Memory(1000, 400);  // a small machine
  EXPECT_TRUE(Room());
  Memory(1000, 100);
  EXPECT_FALSE(Room());
}

TEST_F(MemoryGaugeTest, OfTheContainer) {
  Write("memory.max", "max\n");
  Write("memory.current", "999999999999\n");
  EXPECT_TRUE(Room());
  Write("memory.max", "2000000000\n");
  Write("memory.current", "1900000000\n");
  EXPECT_FALSE(Room());
  Write("memory.stat", "anon 1\ninactive_file 900000000\nactive_file 7\n");
  EXPECT_TRUE(Room());
}

TEST_F(MemoryGaugeTest, UnderPressure) {
  Write("pressure/memory", "some avg10=55.10 avg60=1.0 avg300=0.0 total=1\nfull avg10=0.00\n");
  EXPECT_FALSE(Room());
  Write("pressure/memory", "some avg10=12.10 avg60=99.0 avg300=0.0 total=1\nfull avg10=0.00\n");
  EXPECT_TRUE(Room());
}

TEST_F(MemoryGaugeTest, WhatIsNotToldIsPlenty) {
  EXPECT_TRUE(MemoryGauge("/nowhere", "/nowhere").Room());
  EXPECT_GT(MemoryGauge().Available(), 0u);
}

class PoolTest : public testing::Test {
 protected:
  PoolTest() {
    options_.worker = fs::current_path().string() + "/server/worker/testing/fault-worker";
    options_.workers = 2;
  }
  static WorkerPool::Task Task(const std::string& name, uint64_t seed) {
    proto::CompileUnit unit;
    unit.mutable_target()->set_runtime_abi(seed);
    proto::CompileRequest request;
    request.set_unit(CanonicalBytes(unit));
    request.set_name(name);
    return {request.SerializeAsString(), name, Sha256Of(name + std::to_string(seed))};
  }
  PoolOptions options_;
};

TEST_F(PoolTest, WithoutRoomOneJobRunsAtATime) {
  std::atomic<int> looks{0};
  options_.room = [&looks] { return ++looks > 1 << 30; };
  WorkerPool pool(options_);
  std::atomic<int> left{4};
  std::atomic<size_t> most{0};
  absl::Notification all;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(pool.Submit(Task("sleep 100", i),
                            [&](absl::StatusOr<Frame> frame) {
                              EXPECT_TRUE(frame.ok()) << frame.status();
                              if (--left == 0) all.Notify();
                            })
                    .ok());
  }
  while (!all.WaitForNotificationWithTimeout(absl::Milliseconds(5))) {
    most = std::max(most.load(), pool.stats().busy);
  }
  EXPECT_EQ(most, 1u);
  EXPECT_GT(looks, 0);
}

TEST_F(PoolTest, WarmJobsLeaveHalfTheQueue) {
  options_.workers = 1;
  options_.max_queue = 4;
  WorkerPool pool(options_);
  std::atomic<int> done{0};
  const auto count = [&done](const absl::StatusOr<Frame>&) { ++done; };
  ASSERT_TRUE(pool.Submit(Task("sleep 300", 0), count).ok());
  while (pool.stats().busy == 0) absl::SleepFor(absl::Milliseconds(1));
  int taken = 0;
  absl::Status full;
  for (int i = 0; i < 4; ++i) {
    WorkerPool::Task task = Task("x", 10 + i);
    task.priority = proto::PRIORITY_WARM;
    const auto job = pool.Submit(std::move(task), count);
    taken += job.ok();
    if (!job.ok()) full = job.status();
  }
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(PartOf(full), "queue");
  EXPECT_GE(RetryAfterOf(full), absl::Milliseconds(50));
  EXPECT_TRUE(pool.Submit(Task("x", 20), count).ok());
  EXPECT_TRUE(pool.Submit(Task("x", 21), count).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(pool.Submit(Task("x", 22), count).status()));
  while (done < 5) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(PoolTest, AKeyThatKillsTwoWorkersIsRefused) {
  WorkerPool pool(options_);
  absl::Notification ended;
  ASSERT_TRUE(pool.Submit(Task("die", 1),
                          [&](const absl::StatusOr<Frame>& frame) {
                            EXPECT_EQ(PartOf(frame.status()), "kernel") << frame.status();
                            ended.Notify();
                          })
                  .ok());
  ended.WaitForNotification();
  const absl::Status again = pool.Submit(Task("die", 1), nullptr).status();
  EXPECT_EQ(PartOf(again), "kernel") << again;
  EXPECT_TRUE(absl::StrContains(again.message(), "signal 9")) << again;
  EXPECT_EQ(pool.stats().deaths, 2u);
  EXPECT_EQ(pool.stats().poisoned, 1u);
}

}  // namespace
}  // namespace kiln
