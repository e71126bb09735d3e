#include "server/cache/memory_store.h"

#include <algorithm>
#include <list>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/cache/test_entry.h"
#include "server/cache/tiered_store.h"

namespace kiln {
namespace {

TEST(MemoryStore, KeepsEntries) {
  MemoryStore store(1 << 20);
  EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
  ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_EQ(store.Get(TestPlace(1)).entry->bytes, TestEntry(1)->bytes);
  EXPECT_EQ(store.Get(TestPlace(1)).entry->compile_seconds, 0.5);
  EXPECT_EQ(store.Get(TestPlace(1)).tier, "memory");
  store.Remove(TestPlace(1));
  EXPECT_FALSE(store.Contains(TestPlace(1)));
  EXPECT_EQ(store.stats().bytes, 0u);
}

TEST(MemoryStore, DropsTheLeastRecentlyUsed) {
  const uint64_t size = TestEntry(0)->bytes.size();
  MemoryStore store(5 * size);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  EXPECT_NE(store.Get(TestPlace(0)).entry, nullptr);  // now the most recently used
  ASSERT_TRUE(store.Put(TestPlace(5), TestEntry(5)).ok());
  EXPECT_TRUE(store.Contains(TestPlace(0)));
  EXPECT_FALSE(store.Contains(TestPlace(1)));
  EXPECT_EQ(store.stats().entries, 5u);
  EXPECT_EQ(store.stats().bytes, 5 * size);
  EXPECT_EQ(store.stats().evictions, 1u);
}

TEST(MemoryStore, PutTwiceCountsOnce) {
  MemoryStore store(1 << 20);
  ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1, 100)).ok());
  ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1, 200)).ok());
  EXPECT_EQ(store.stats().entries, 1u);
  EXPECT_EQ(store.stats().bytes, TestEntry(1, 200)->bytes.size());
}

TEST(MemoryStore, DoesNotKeepAnEntryThatWouldEvictAllOthers) {
  MemoryStore store(1000);
  ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1, 900)).ok());
  EXPECT_FALSE(store.Contains(TestPlace(1)));
}

TEST(MemoryStore, KeepsNothingAfterClose) {
  MemoryStore store(1000);
  ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1, 100)).ok());
  store.Close();
  EXPECT_FALSE(store.Contains(TestPlace(1)));
  ASSERT_TRUE(store.Put(TestPlace(2), TestEntry(2, 100)).ok());
  EXPECT_FALSE(store.Contains(TestPlace(2)));
}

// All shards share one order of use.
TEST(MemoryStore, EvictsLikeASingleList) {
  constexpr int kKept = 40, kKeys = 200;
  MemoryStore store(kKept * TestEntry(0)->bytes.size());
  std::list<int> model;  // most recent first
  std::mt19937 random(7);
  std::vector<EntryPtr> entries;
  for (int i = 0; i < kKeys; ++i) entries.push_back(TestEntry(i));
  for (int step = 0; step < 20000; ++step) {
    const int key = static_cast<int>(std::min(random() % kKeys, random() % kKeys));
    const auto at = std::find(model.begin(), model.end(), key);
    ASSERT_EQ(store.Get(TestPlace(key)).entry != nullptr, at != model.end()) << "step " << step;
    if (at != model.end()) {
      model.erase(at);
    } else {
      ASSERT_TRUE(store.Put(TestPlace(key), entries[key]).ok());
      if (model.size() == kKept) model.pop_back();
    }
    model.push_front(key);
  }
  EXPECT_EQ(store.stats().entries, static_cast<uint64_t>(kKept));
}

TEST(MemoryStore, StaysWithinItsBudgetWithManyThreads) {
  const uint64_t budget = 20 * TestEntry(0)->bytes.size();
  MemoryStore store(budget);
  std::vector<EntryPtr> entries;
  for (int i = 0; i < 64; ++i) entries.push_back(TestEntry(i));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int step = 0; step < 5000; ++step) {
        const int key = static_cast<int>(random() % 64);
        const Found found = store.Get(TestPlace(key));
        if (found.entry != nullptr) {
          EXPECT_EQ(found.entry, entries[key]);
        } else {
          store.Put(TestPlace(key), entries[key]).IgnoreError();
        }
        if (step % 100 == 0) store.Remove(TestPlace(static_cast<int>(random() % 64)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store.stats().bytes, budget);
  uint64_t entries_left = 0, bytes_left = 0;
  for (int i = 0; i < 64; ++i) {
    if (!store.Contains(TestPlace(i))) continue;
    ++entries_left;
    bytes_left += entries[i]->bytes.size();
  }
  EXPECT_EQ(store.stats().entries, entries_left);
  EXPECT_EQ(store.stats().bytes, bytes_left);
}

TEST(TieredStore, CopiesEntriesToTiersThatLackThem) {
  MemoryStore near(1 << 20), far(1 << 20);
  TieredStore tiers({&near, &far});
  ASSERT_TRUE(far.Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_NE(tiers.Get(TestPlace(1)).entry, nullptr);
  EXPECT_TRUE(near.Contains(TestPlace(1)));
  far.Remove(TestPlace(1));
  EXPECT_NE(tiers.Get(TestPlace(1)).entry, nullptr);
  EXPECT_TRUE(far.Contains(TestPlace(1)));
  EXPECT_EQ(tiers.Get(TestPlace(2)).entry, nullptr);
}

TEST(TieredStore, ClearsAndCountsTheLastTier) {
  MemoryStore near(1 << 20), far(1 << 20);
  TieredStore tiers({&near, &far});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tiers.Put(TestPlace(i), TestEntry(i)).ok());
  EXPECT_EQ(tiers.stats().entries, 3u);
  EXPECT_EQ(tiers.Clear().entries, 3u);
  EXPECT_FALSE(tiers.Contains(TestPlace(0)));
}

TEST(TieredStore, AnswersFromTheNearestTierWithoutWaiting) {
  MemoryStore near(1 << 20), far(1 << 20);
  TieredStore tiers({&near, &far});
  EXPECT_EQ(tiers.GetAtOnce(TestPlace(1)).entry, nullptr);
  ASSERT_TRUE(far.Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_EQ(tiers.GetAtOnce(TestPlace(1)).entry, nullptr) << "the farther one is not to be asked";
  EXPECT_NE(tiers.Get(TestPlace(1)).entry, nullptr);
  EXPECT_NE(tiers.GetAtOnce(TestPlace(1)).entry, nullptr);
}

TEST(TieredStore, GetRestoresEntriesThatAFartherTierLost) {
  MemoryStore near(1 << 20), far(1 << 20);
  TieredStore tiers({&near, &far});
  ASSERT_TRUE(tiers.Put(TestPlace(1), TestEntry(1)).ok());
  far.Remove(TestPlace(1));
  EXPECT_EQ(tiers.GetAtOnce(TestPlace(1)).entry, nullptr);
  EXPECT_NE(tiers.Get(TestPlace(1)).entry, nullptr);
  EXPECT_TRUE(far.Contains(TestPlace(1)));
  EXPECT_NE(tiers.GetAtOnce(TestPlace(1)).entry, nullptr);
}

}  // namespace
}  // namespace kiln
