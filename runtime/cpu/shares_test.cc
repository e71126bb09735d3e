#include "runtime/cpu/shares.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

// Takes with the threads in turn until none is left; returns how often each iteration was taken.
std::vector<int> Taken(Shares& shares, int64_t count, const std::vector<int>& threads) {
  std::vector<int> taken(count);
  for (bool any = true; any;) {
    any = false;
    for (const int thread : threads) {
      Chunk chunk;
      if (!shares.Take(thread, &chunk)) continue;
      any = true;
      EXPECT_LT(chunk.begin, chunk.end);
      for (int64_t i = chunk.begin; i < chunk.end; ++i) ++taken[i];
    }
  }
  return taken;
}

TEST(SharesTest, EveryIterationOnce) {
  auto shares = std::make_unique<Shares>();
  for (const int64_t count : {0, 1, 2, 63, 64, 1000, 5000, 9999}) {
    for (const int threads : {1, 2, 3, 7, 64, kMaxPoolThreads}) {
      for (const int64_t chunk : {1, 10, 64, 100'000}) {
        shares->Deal(count, chunk, 1, threads);
        // One thread that comes last, and one alone, which takes all others' shares.
        std::vector<int> order;
        for (int t = threads - 1; t >= 0; --t) order.push_back(t);
        EXPECT_EQ(Taken(*shares, count, order), std::vector<int>(count, 1))
            << count << " by " << threads << " in " << chunk;
        shares->Deal(count, chunk, 1, threads);
        EXPECT_EQ(Taken(*shares, count, {threads / 2}), std::vector<int>(count, 1));
      }
    }
  }
}

TEST(SharesTest, UnitsAreNotDivided) {
  auto shares = std::make_unique<Shares>();
  for (const int threads : {2, 3, 8}) {
    shares->Deal(10 * 24 + 5, 48, 24, threads);
    Chunk chunk;
    for (int t = 0; shares->Take(t % threads, &chunk); ++t) {
      EXPECT_EQ(chunk.begin % 24, 0);
      EXPECT_TRUE(chunk.end % 24 == 0 || chunk.end == 10 * 24 + 5) << chunk.end;
    }
  }
}

TEST(SharesTest, OwnersBeginWithTheirOwn) {
  auto shares = std::make_unique<Shares>();
  shares->Deal(4096, 64, 1, 4);
  for (int t = 0; t < 4; ++t) {
    Chunk chunk;
    ASSERT_TRUE(shares->Take(t, &chunk));
    EXPECT_EQ(chunk.begin, 1024 * t);
    EXPECT_EQ(chunk.end, 1024 * t + 64);
  }
}

TEST(SharesTest, AThiefTakesTheBackHalf) {
  auto shares = std::make_unique<Shares>();
  shares->Deal(4096, 64, 1, 2);
  Chunk chunk;
  // Thread 1 runs its 32 chunks, then half of those of thread 0, which has begun none.
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(shares->Take(1, &chunk));
  ASSERT_TRUE(shares->Take(1, &chunk));
  EXPECT_EQ(chunk.begin, 16 * 64);
  ASSERT_TRUE(shares->Take(0, &chunk));
  EXPECT_EQ(chunk.begin, 0);
}

TEST(SharesTest, AShareHasAtMostSoManyChunks) {
  auto shares = std::make_unique<Shares>();
  constexpr int64_t kCount = int64_t{1} << 60;
  shares->Deal(kCount, 1, 1, 2);
  Chunk chunk;
  int64_t taken = 0, count = 0;
  for (; count < 1000 && shares->Take(1, &chunk); ++count) taken += chunk.end - chunk.begin;
  EXPECT_EQ(count, 1000);
  EXPECT_GT(taken, kCount >> 20) << "chunks have grown";
}

}  // namespace
}  // namespace kiln
