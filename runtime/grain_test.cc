#include "runtime/grain.h"

#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cpu/thread_pool.h"

namespace kiln {
namespace {

TEST(CostTest, TheFirstMeasurementReplacesTheEstimate) {
  Cost cost;
  cost.Expect(10);
  EXPECT_EQ(cost.Estimate(100), 1000);
  EXPECT_FALSE(cost.measured());
  cost.Measure(50'000, 100);
  EXPECT_TRUE(cost.measured());
  EXPECT_EQ(cost.Estimate(100), 50'000);
}

TEST(CostTest, RisesFourfoldAndFallsByHalves) {
  Cost cost;
  cost.Measure(1000, 10);
  cost.Measure(1'000'000, 10);
  EXPECT_EQ(cost.Estimate(10), 4000);
  cost.Measure(2000, 10);
  EXPECT_EQ(cost.Estimate(10), 3000);
  cost.Distrust();
  cost.Measure(10, 10);
  EXPECT_EQ(cost.Estimate(10), 10);
  cost.Measure(10, 0);
  EXPECT_EQ(cost.Estimate(10), 10) << "no iterations tell nothing";
}

TEST(CostTest, OneSlowMeasurementMayNotCount) {
  Cost cost;
  cost.MeasureUnlessOnce(1000, 10);
  EXPECT_EQ(cost.Estimate(10), 1000) << "the first one counts";
  for (int i = 0; i < 3; ++i) {
    cost.MeasureUnlessOnce(10'000, 10);
    EXPECT_EQ(cost.Estimate(10), 1000);
    cost.MeasureUnlessOnce(1000, 10);
    EXPECT_EQ(cost.Estimate(10), 1000);
  }
  cost.MeasureUnlessOnce(3000, 10);
  cost.MeasureUnlessOnce(3000, 10);
  EXPECT_EQ(cost.Estimate(10), 3000) << "two in a row do";
}

void RunNothing(const KilnContext*, int64_t, int64_t, int32_t) {}

// The cost of a short loop may change: it is measured now and then, and each of its runs is one
// call.
TEST(CostTest, ShortLoopsAreMeasuredNowAndThen) {
  Cost cost;
  volatile uint32_t failed = 0;
  KilnContext ctx = {};
  ctx.failed = &failed;
  cost.Measure(500, 1);
  for (int run = 0; run < 100; ++run) cost.RunMeasured(&RunNothing, ctx, 0, 1, 1);
  EXPECT_LT(cost.Estimate(1), 400);
  cost.Measure(2'000'000, 1'000'000);
  const KilnTask count = [](const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
    *static_cast<int64_t*>(ctx->launch) += end - begin;
  };
  int64_t iterations = 0;
  ctx.launch = &iterations;
  for (int run = 0; run < 20; ++run) cost.RunMeasured(count, ctx, 0, 10, 1);
  EXPECT_EQ(iterations, 200);
}

TEST(CostTest, OneShortLoopInManyIsLeftToBeMeasured) {
  Cost cost;
  volatile uint32_t failed = 0;
  KilnContext ctx = {};
  ctx.failed = &failed;
  EXPECT_FALSE(cost.RunShort(&RunNothing, ctx, 0, 1)) << "of unknown cost";
  cost.Measure(500, 1);
  EXPECT_FALSE(cost.RunShort(&RunNothing, ctx, 0, 10)) << "5 us";
  int run = 0;
  while (cost.RunShort(&RunNothing, ctx, 0, 1)) ASSERT_LT(++run, 1000);
  EXPECT_FALSE(cost.RunShort(&RunNothing, ctx, 0, 1)) << "until it is measured";
  cost.RunMeasured(&RunNothing, ctx, 0, 1, 1);
  EXPECT_TRUE(cost.RunShort(&RunNothing, ctx, 0, 1));
}

TEST(CostTest, ChunksAreWholeUnitsAndNeverEmpty) {
  for (const uint32_t nanoseconds : {0u, 1u, 100u, 1u << 25}) {
    Cost cost;
    cost.Expect(nanoseconds);
    for (const int64_t count : {1, 100, 1'000'000}) {
      for (const int64_t unit : {1, 7, 64}) {
        const int64_t chunk = cost.ChunkSize(count, 2, unit);
        EXPECT_GT(chunk, 0);
        EXPECT_EQ(chunk % unit, 0);
      }
    }
  }
}

TEST(VariantChoiceTest, RetriesLessAndLessOften) {
  VariantChoice choice;
  int launches = 0, retries = 0;
  std::vector<int> at;
  for (; retries < 4; ++launches) {
    if (choice.TimeForOther(/*chosen=*/1, /*trying=*/10)) {
      ++retries;
      at.push_back(launches + 1);
    }
  }
  EXPECT_EQ(at, (std::vector<int>{10, 30, 70, 150}));
}

TEST(PieceSizeTest, PiecesAreWholeUnitsOfAtLeastTheGrain) {
  for (const int64_t iterations : {1, 1000, 1'000'003, 1 << 30}) {
    for (const int64_t grain : {1, 100, 100'000}) {
      for (const int64_t unit : {1, 3, 64}) {
        const int64_t size = PieceSize(iterations, grain, unit);
        EXPECT_GE(size, grain);
        EXPECT_EQ(size % unit, 0);
        EXPECT_LE((iterations + size - 1) / size, 65'536);
      }
    }
  }
}

class FakeExecutor final : public Executor {
 public:
  FakeExecutor(int awake, bool own) : awake_(awake), own_(own) {}
  bool TryRun(const KilnContext&, const Range&, int64_t*, int64_t*) override { return false; }
  bool Awake(int threads) const override { return threads <= awake_; }
  int concurrency() const override { return kMaxPoolThreads; }
  bool has_own_threads() const override { return own_; }

 private:
  const int awake_;
  const bool own_;
};

class SharingTest : public testing::Test {
 protected:
  // In a thread of its own, which has run no loop yet.
  static Sharing Fresh(double estimate, int most, const Executor& executor) {
    Sharing found;
    std::thread([&] { found = ThreadsFor(estimate, most, executor); }).join();
    return found;
  }
  const FakeExecutor awake_{64, true}, parked_{1, true}, others_{64, false};
};

TEST_F(SharingTest, EachThreadHasWork) {
  EXPECT_EQ(Fresh(3'000, 64, awake_).threads, 1);
  EXPECT_EQ(Fresh(5'000, 64, awake_).threads, 2);
  EXPECT_EQ(Fresh(30'000, 64, awake_).threads, 15);
  EXPECT_EQ(Fresh(3'000'000, 64, awake_).threads, 64);
  EXPECT_EQ(Fresh(3'000'000, 1, awake_).threads, 1);
  EXPECT_EQ(Fresh(30'000, 64, parked_).threads, 1) << "no thread is woken for so little";
  EXPECT_EQ(Fresh(400'000, 64, parked_).threads, 10);
}

// Whether a hint that holds for a moment is given. Where the test is preempted, it comes too late.
bool Soon(const std::function<bool()>& is_given) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (is_given()) return true;
  }
  return false;
}

TEST_F(SharingTest, BurstsWakeThreads) {
  EXPECT_TRUE(Soon([&] {
    ThreadsFor(30'000, 64, parked_);
    const Sharing second = ThreadsFor(30'000, 64, parked_);
    EXPECT_FALSE(second.awake);
    return second.threads == 15;
  }));
}

// Half of a loop's iterations by the caller, as if a second thread ran the others: a run without
// contention ends when the caller does.
SharedRun Shared(int64_t caller_took, int64_t took, bool awake) {
  const int64_t now = NowNanoseconds();
  return {now - took, now, 1000, 500, caller_took, awake};
}

TEST_F(SharingTest, OnlyLoopsLongEnoughToWakeThreadsTellOfContention) {
  // Alone it would have taken 20 us: a thread that slept comes too late for that.
  NoteContention(Shared(10'000, 30'000, /*awake=*/false));
  EXPECT_EQ(ThreadsFor(1e6, 2, awake_).threads, 2);
  NoteContention(Shared(1'000'000, 1'100'000, /*awake=*/false));
  EXPECT_EQ(ThreadsFor(1e6, 2, awake_).threads, 2) << "the threads halved its time";
  EXPECT_TRUE(Soon([&] {
    NoteContention(Shared(1'000'000, 2'000'000, /*awake=*/false));
    return ThreadsFor(1e6, 2, awake_).threads == 1;
  }));
  EXPECT_EQ(ThreadsFor(1e6, 2, others_).threads, 2);
  EXPECT_EQ(ThreadsFor(1e7, 2, awake_).threads, 2) << "long loops are shared anyway";
}

}  // namespace
}  // namespace kiln
