// The queue of jobs, the refused keys, the gauge of memory, and the pool with a test worker.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/unit/canonical.h"
#include "common/wire/error_detail.h"
#include "gtest/gtest.h"
#include "kiln/proto/unit.pb.h"
#include "server/daemon/workers/job_queue.h"
#include "server/daemon/workers/memory_gauge.h"
#include "server/daemon/workers/poison_list.h"
#include "server/daemon/workers/shares.h"
#include "server/daemon/workers/worker_pool.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

const JobOwner kSomebody = {"", "pid 1"};
bool Anybody(const JobOwner&) { return true; }

TEST(JobQueue, InteractiveJobsComeFirst) {
  JobQueue<int> queue;
  for (int i = 0; i < 3; ++i) queue.Push(100 + i, kSomebody, /*warm=*/true);
  for (int i = 0; i < 3; ++i) queue.Push(i, kSomebody, /*warm=*/false);
  EXPECT_EQ(queue.size(), 6u);
  std::vector<int> order;
  while (!queue.empty()) order.push_back(*queue.Pop(Anybody, nullptr));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 100, 101, 102}));
}

TEST(JobQueue, NoTenantStarves) {
  JobQueue<int> queue;
  queue.Push(-1, kSomebody, /*warm=*/true);
  int served = 0;
  do {
    queue.Push(served, kSomebody, /*warm=*/false);  // one comes for each that is taken
    ASSERT_LT(++served, 20);
  } while (*queue.Pop(Anybody, nullptr) != -1);
}

TEST(JobQueue, RemovesFromBothKinds) {
  JobQueue<int> queue;
  queue.Push(1, kSomebody, true);
  queue.Push(2, kSomebody, false);
  EXPECT_TRUE(queue.Remove(1));
  EXPECT_FALSE(queue.Remove(1));
  EXPECT_TRUE(queue.Remove(2));
  EXPECT_TRUE(queue.empty());
}

TEST(JobQueue, TenantsTakeTurnsAndSoDoTheCallersOfEach) {
  JobQueue<std::string> queue;
  for (const char* job : {"a1", "a2", "a3", "a4", "a5"}) queue.Push(job, {"a", "alice"}, false);
  for (const char* job : {"x1", "x2"}) queue.Push(job, {"a", "xaver"}, false);
  for (const char* job : {"b1", "b2"}) queue.Push(job, {"b", "bob"}, false);
  std::string order;
  while (!queue.empty()) order += *queue.Pop(Anybody, nullptr) + " ";
  EXPECT_EQ(order, "a1 b1 x1 b2 a2 x2 a3 a4 a5 ");
}

TEST(JobQueue, ATenantThatStaysGoesFirst) {
  JobQueue<int> queue;
  queue.Push(1, {"a", ""}, false);
  queue.Push(2, {"b", ""}, false);
  const std::string stay = "b";
  EXPECT_EQ(queue.Next(Anybody, &stay)->tenant, "b");
  EXPECT_EQ(queue.Pop(Anybody, &stay), 2);
  EXPECT_EQ(queue.Pop(Anybody, &stay), 1);
}

TEST(JobQueue, SkipsTenantsThatMayNotRun) {
  JobQueue<int> queue;
  queue.Push(1, {"a", ""}, false);
  queue.Push(2, {"b", ""}, true);
  const auto only_b = [](const JobOwner& owner) { return owner.tenant == "b"; };
  EXPECT_EQ(queue.Pop(only_b, nullptr), 2);
  EXPECT_EQ(queue.Next(only_b, nullptr), nullptr);
  EXPECT_EQ(queue.Pop(only_b, nullptr), absl::nullopt);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(JobQueue, TheTenantWithTheMostJobsMakesRoom) {
  JobQueue<int> queue;
  for (int i = 0; i < 5; ++i) queue.Push(i, {"a", ""}, false);
  for (int i = 10; i < 14; ++i) queue.Push(i, {"b", ""}, false);
  EXPECT_EQ(queue.MakeRoomFor({"b", ""}, false), absl::nullopt) << "it has as many";
  EXPECT_EQ(queue.MakeRoomFor({"c", ""}, true), absl::nullopt) << "of another kind";
  EXPECT_EQ(queue.MakeRoomFor({"c", ""}, false), 4);
  EXPECT_EQ(queue.size(), 8u);
}

TEST(Shares, ASingleTenantMayUseAllWorkers) {
  Shares shares(2);
  const absl::Time now = absl::Now();
  const JobOwner one = {"", "pid 1"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(shares.May(one, now));
    shares.Came(one, now);
    shares.Began(one, now);
  }
}

TEST(Shares, LeavesOneWorkerForOtherTenants) {
  Shares shares(2);
  const absl::Time now = absl::Now();
  const JobOwner a = {"a", "alice"}, b = {"b", "bob"};
  for (const JobOwner& owner : {a, b}) {
    shares.Came(owner, now);
    shares.Began(owner, now);
  }
  EXPECT_FALSE(shares.May(a, now));
  shares.Ended(b, now);
  EXPECT_FALSE(shares.May(a, now + absl::Seconds(2))) << "b may come again";
  EXPECT_FALSE(shares.May({"a", "ann"}, now)) << "of the same tenant";
  EXPECT_TRUE(shares.May(b, now));
  EXPECT_TRUE(shares.May(a, now + absl::Minutes(1)));
}

TEST(Shares, CallersOfOneTenantLeaveRoomForEachOther) {
  Shares shares(3);
  const absl::Time now = absl::Now();
  const JobOwner a = {"", "pid 1"}, b = {"", "pid 2"};
  for (int i = 0; i < 2; ++i) {
    shares.Came(a, now);
    shares.Began(a, now);
  }
  EXPECT_TRUE(shares.May(a, now));
  shares.Came(b, now);
  EXPECT_FALSE(shares.May(a, now));
  EXPECT_TRUE(shares.May(b, now));
  shares.Left(b, now);
  EXPECT_TRUE(shares.May(a, now + absl::Minutes(1)));
}

TEST(Shares, ASingleWorkerIsNotReserved) {
  Shares shares(1);
  const absl::Time now = absl::Now();
  shares.Came({"b", ""}, now);
  EXPECT_TRUE(shares.May({"a", ""}, now));
}

TEST(PoisonList, RefusesForAWhileByName) {
  PoisonList poisons(absl::Minutes(10), 100);
  const Place place(Sha256Of("place"));
  const absl::Time now = absl::Now();
  EXPECT_TRUE(poisons.Check(place, "substep", now).ok());
  poisons.Add(place, "lost its worker", now);
  const absl::Status refused = poisons.Check(place, "substep", now + absl::Minutes(4));
  EXPECT_EQ(PartOf(refused), "kernel");
  EXPECT_EQ(RetryAfterOf(refused), absl::Minutes(6));
  EXPECT_TRUE(absl::StrContains(refused.message(), "compiling substep is refused for another 6m"))
      << refused;
  EXPECT_TRUE(poisons.Check(Place(Sha256Of("other")), "", now).ok());
  EXPECT_TRUE(poisons.Check(place, "substep", now + absl::Minutes(11)).ok());
  EXPECT_EQ(poisons.size(), 0u);
}

TEST(PoisonList, IsBounded) {
  PoisonList poisons(absl::Minutes(10), 3);
  const absl::Time now = absl::Now();
  for (int i = 0; i < 10; ++i) poisons.Add(Place(Sha256Of(std::to_string(i))), "died", now);
  poisons.Add(Place(Sha256Of("9")), "died", now);  // again: still one
  EXPECT_EQ(poisons.size(), 3u);
  EXPECT_FALSE(poisons.Check(Place(Sha256Of("9")), "", now).ok());
  EXPECT_TRUE(poisons.Check(Place(Sha256Of("0")), "", now).ok());
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

TEST_F(MemoryGaugeTest, MissingFiguresCountAsPlenty) {
  EXPECT_TRUE(MemoryGauge("/nowhere", "/nowhere").Room());
  EXPECT_GT(MemoryGauge().Available(), 0u);
}

class PoolTest : public testing::Test {
 protected:
  PoolTest() {
    options_.worker = fs::current_path().string() + "/server/worker/testing/fault-worker";
    options_.workers = 2;
  }
  static WorkerPool::Task Task(const std::string& name, uint64_t seed,
                               const JobOwner& owner = kSomebody) {
    proto::CompileUnit unit;
    unit.mutable_target()->set_runtime_abi(seed);
    proto::CompileRequest request;
    request.set_unit(CanonicalBytes(unit));
    request.set_name(name);
    const Key key(Sha256Of(name + std::to_string(seed)));
    return {request.SerializeAsString(), name, owner, PlaceOf(owner.tenant, key)};
  }
  // Runs a task to its end.
  static absl::StatusOr<Frame> Run(WorkerPool* pool, WorkerPool::Task task) {
    absl::StatusOr<Frame> result;
    absl::Notification ended;
    const auto job = pool->Submit(std::move(task), [&](absl::StatusOr<Frame> frame) {
      result = std::move(frame);
      ended.Notify();
    });
    if (!job.ok()) return job.status();
    ended.WaitForNotification();
    return result;
  }
  // The process that runs a job.
  static std::string WorkerOf(WorkerPool* pool, uint64_t seed, const std::string& tenant) {
    const absl::StatusOr<Frame> frame = Run(pool, Task("pid", seed, {tenant, tenant}));
    proto::CompileReply reply;
    EXPECT_TRUE(frame.ok() && reply.ParseFromString(frame->body)) << frame.status();
    return std::string(DecodeEntry(reply.entry())->payload);
  }
  PoolOptions options_;
};

TEST_F(PoolTest, AWorkerServesOneTenant) {
  options_.workers = 2;
  WorkerPool pool(options_);
  std::map<std::string, std::string> tenant_of;
  for (uint64_t i = 0; i < 40; ++i) {
    // In runs of four, and one by one.
    const std::string tenant = (i < 20 ? i / 4 : i) % 2 == 0 ? "a" : "b";
    const std::string worker = WorkerOf(&pool, i, tenant);
    const auto [at, fresh] = tenant_of.emplace(worker, tenant);
    EXPECT_EQ(at->second, tenant) << "worker " << worker << ", job " << i;
  }
  EXPECT_EQ(pool.stats().deaths, 0u);
}

TEST_F(PoolTest, ATenantThatIsAloneKeepsItsWorker) {
  options_.workers = 1;
  WorkerPool pool(options_);
  const std::string worker = WorkerOf(&pool, 0, "a");
  for (uint64_t i = 1; i < 10; ++i) EXPECT_EQ(WorkerOf(&pool, i, "a"), worker);
}

TEST_F(PoolTest, AQuickKernelDoesNotWaitBehindAllOfAnothersSlowOnes) {
  constexpr int kSlow = 12;
  for (const int workers : {1, 2}) {
    options_.workers = workers;
    WorkerPool pool(options_);
    std::atomic<int> slow_done{0};
    for (int i = 0; i < kSlow; ++i) {
      ASSERT_TRUE(pool.Submit(Task("sleep 300", i, {"a", "a"}),
                              [&](const absl::StatusOr<Frame>&) { ++slow_done; })
                      .ok());
    }
    while (pool.stats().busy == 0) absl::SleepFor(absl::Milliseconds(1));
    ASSERT_TRUE(Run(&pool, Task("sleep 5", 100, {"b", "b"})).ok());
    EXPECT_LE(slow_done, 2 * workers) << workers << " workers";
    // One worker stays free for another caller.
    if (workers > 1) {
      const int before = slow_done;
      ASSERT_TRUE(Run(&pool, Task("sleep 5", 101, {"b", "b"})).ok());
      EXPECT_LE(slow_done, before + 1);
    }
  }
}

TEST_F(PoolTest, TenantsShareAFullQueue) {
  options_.workers = 1;
  options_.max_queue = 4;
  WorkerPool pool(options_);
  std::atomic<int> refused{0}, served{0};
  const auto count = [&](const absl::StatusOr<Frame>& frame) {
    ++(PartOf(frame.status()) == "queue" ? refused : served);
  };
  ASSERT_TRUE(pool.Submit(Task("sleep 300", 0, {"a", "a"}), count).ok());
  while (pool.stats().busy == 0) absl::SleepFor(absl::Milliseconds(1));
  for (int i = 1; i < 5; ++i) {
    ASSERT_TRUE(pool.Submit(Task("x", i, {"a", "a"}), count).ok());
  }
  EXPECT_EQ(PartOf(pool.Submit(Task("x", 5, {"a", "a"}), count).status()), "queue");
  EXPECT_TRUE(Run(&pool, Task("x", 6, {"b", "b"})).ok());
  EXPECT_EQ(refused, 1);
  while (served < 4) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(PoolTest, DoesNotRetryJobsThatTakeTooLong) {
  options_.job_limit = absl::Milliseconds(300);
  WorkerPool pool(options_);
  const absl::Status late = Run(&pool, Task("sleep 60000", 1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_EQ(pool.stats().deaths, 1u);
  const absl::Status again = Run(&pool, Task("sleep 60000", 1)).status();
  EXPECT_EQ(PartOf(again), "kernel") << again;
  EXPECT_TRUE(absl::StrContains(again.message(), "it took longer than 300ms")) << again;
}

TEST_F(PoolTest, ARefusalAppliesToOneTenantOnly) {
  WorkerPool pool(options_);
  EXPECT_EQ(PartOf(Run(&pool, Task("die", 1, {"a", "a"})).status()), "kernel");
  const uint64_t deaths = pool.stats().deaths;
  EXPECT_EQ(PartOf(Run(&pool, Task("die", 1, {"b", "b"})).status()), "kernel");
  EXPECT_EQ(pool.stats().deaths, deaths + 2);
}

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
