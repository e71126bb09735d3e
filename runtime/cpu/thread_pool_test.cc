// Run plain and under the thread sanitizer (thread_pool_tsan_test).
#include "runtime/cpu/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

// Increments every element by plain stores, so that the sanitizer detects overlaps.
void CountUp(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  auto* y = reinterpret_cast<int32_t*>(ctx->arguments[0]);
  for (int64_t i = begin; i < end; ++i) y[i] += 1;
}

struct Launch {
  std::vector<int32_t> y;
  uint64_t arguments[1];
  volatile uint32_t failed = 0;
  KilnContext ctx = {};

  explicit Launch(int64_t size) : y(size) {
    arguments[0] = reinterpret_cast<uint64_t>(y.data());
    ctx.arguments = arguments;
    ctx.failed = &failed;
  }
  bool Run(int threads, int64_t chunk, Executor& executor = ThreadPool::Get()) {
    Executor::Range range{&CountUp, 0, static_cast<int64_t>(y.size()), chunk, threads};
    int64_t iterations, nanoseconds;
    return executor.TryRun(ctx, range, &iterations, &nanoseconds);
  }
  bool AllAre(int32_t value) const {
    for (int32_t v : y) {
      if (v != value) return false;
    }
    return true;
  }
};

TEST(ThreadPoolTest, EveryIterationOnce) {
  for (int64_t size : {1, 2, 7, 64, 5000}) {
    for (int threads : {2, 3, 5}) {
      for (int64_t chunk : {1, 64, 10000}) {
        Launch launch(size);
        int32_t runs = 0;
        for (int i = 0; i < 20; ++i) runs += launch.Run(threads, chunk) ? 1 : 0;
        EXPECT_EQ(runs, 20);
        EXPECT_TRUE(launch.AllAre(runs)) << size << " " << threads << " " << chunk;
      }
    }
  }
}

TEST(ThreadPoolTest, ParkedThreadsComeBack) {
  Launch launch(4096);
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(launch.Run(2 + i % 3, 16));
    usleep(i % 2 == 0 ? 1000 : 120);  // parked, and about to park
    ASSERT_TRUE(launch.AllAre(i));
  }
}

TEST(ThreadPoolTest, ManyThreads) {
  ThreadPool pool(40);
  Launch launch(20'000);
  int32_t runs = 0;
  for (const int threads : {8, 9, 40, 16, 17, 3, 40}) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(launch.Run(threads, 64, pool));
      if (i % 5 == 0) usleep(1000);  // most are parked
      ASSERT_TRUE(launch.AllAre(++runs)) << threads;
    }
  }
}

// The caller wakes two threads, and they the others.
TEST(ThreadPoolTest, AllThreadsWakeUp) {
  constexpr int kThreads = 20;
  ThreadPool pool(kThreads);
  const KilnTask wait = [](const KilnContext* ctx, int64_t, int64_t, int32_t index) {
    reinterpret_cast<std::atomic<int>*>(ctx->arguments[0])[index] += 1;
    usleep(1000);
  };
  std::vector<std::atomic<int>> chunks(kThreads);
  const auto idle = [&] { return std::count(chunks.begin(), chunks.end(), 0); };
  Launch launch(1);
  launch.arguments[0] = reinterpret_cast<uint64_t>(chunks.data());
  // The first launch starts the threads. Later ones find them parked; a busy machine may be too
  // slow to wake all of them for one launch.
  for (int i = 0; i == 0 || (i < 200 && idle() != 0); ++i) {
    int64_t iterations, nanoseconds;
    ASSERT_TRUE(
        pool.TryRun(launch.ctx, {wait, 0, 20 * kThreads, 1, kThreads}, &iterations, &nanoseconds));
    usleep(2000);
    if (i == 0) std::fill(chunks.begin(), chunks.end(), 0);
  }
  EXPECT_EQ(idle(), 0);
}

TEST(ThreadPoolTest, FailureEndsEarly) {
  Launch launch(1 << 16);
  launch.failed = 1;
  EXPECT_TRUE(launch.Run(2, 1));
  EXPECT_TRUE(launch.AllAre(0));
}

// The threads of this process once there are `expected`, or after a while: the system removes a
// joined thread a moment later.
int64_t ThreadsOfProcess(int64_t expected) {
  int64_t count = 0;
  for (int tries = 0; tries < 1000; ++tries) {
    count = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    if (count == expected) break;
    usleep(1000);
  }
  return count;
}

TEST(ThreadPoolTest, APoolsEndEndsItsThreads) {
  const int64_t before = ThreadsOfProcess(0);
  for (int i = 0; i < 30; ++i) {
    ThreadPool pool(4);
    EXPECT_EQ(pool.concurrency(), 4);
    EXPECT_EQ(pool.started(), 0);
    Launch launch(5000);
    for (int k = 1; k <= i; ++k) {
      ASSERT_TRUE(launch.Run(k % 5 + 2, 50, pool));
      ASSERT_TRUE(launch.AllAre(k));
    }
    EXPECT_LE(pool.started(), 3);
    if (i % 3 == 1) usleep(120);   // about to park
    if (i % 3 == 2) usleep(2000);  // parked
  }
  EXPECT_EQ(ThreadsOfProcess(before), before);
}

TEST(ThreadPoolTest, PoolsRunAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      ThreadPool pool(2 + t);
      Launch launch(3000);
      for (int i = 1; i <= 200; ++i) wrong += !launch.Run(4, 50, pool) || !launch.AllAre(i);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPoolTest, APoolHasNoThreadsInAForkedChild) {
  auto pool = std::make_unique<ThreadPool>(3);
  Launch launch(5000);
  ASSERT_TRUE(launch.Run(3, 50, *pool));
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const bool good = !launch.Run(3, 50, *pool) && !pool->Awake(2) && pool->concurrency() == 1 &&
                      launch.AllAre(1);
    pool.reset();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(launch.Run(3, 50, *pool));
  EXPECT_TRUE(launch.AllAre(2));
}

// Several threads use the pool while the process forks children.
TEST(ThreadPoolTest, ConcurrentLaunchesAndForks) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> wrong{0}, shared{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Launch launch(2000);
      int32_t runs = 0;
      for (int i = 0; i < 300; ++i) {
        if (launch.Run(2 + t % 3, 50)) {
          ++runs;
          ++shared;
        }
      }
      wrong += !launch.AllAre(runs);
    });
  }
  int bad_children = 0;
  for (int i = 0; i < 3; ++i) {
    usleep(2000);
    pid_t child = fork();
    if (child == 0) {
      alarm(30);
      Launch launch(5000);
      bool good = ThreadPool::Get().started() == 0;
#ifdef __SANITIZE_THREAD__
      _exit(good ? 0 : 1);  // its runtime cannot start threads after such a fork
#endif
      for (int k = 1; k <= 20; ++k) good = good && launch.Run(3, 32) && launch.AllAre(k);
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bad_children += status != 0;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(bad_children, 0);
  EXPECT_GT(shared, 0);
}

}  // namespace
}  // namespace kiln
