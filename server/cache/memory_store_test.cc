#include "server/cache/memory_store.h"

#include "gtest/gtest.h"
#include "server/cache/test_entry.h"
#include "server/cache/tiered_store.h"

namespace kiln {
namespace {

TEST(MemoryStore, KeepsWhatItIsGiven) {
  MemoryStore store(1 << 20);
  EXPECT_EQ(store.Get(TestKey(1)).entry, nullptr);
  ASSERT_TRUE(store.Put(TestKey(1), TestEntry(1)).ok());
  EXPECT_EQ(store.Get(TestKey(1)).entry->bytes, TestEntry(1)->bytes);
  EXPECT_EQ(store.Get(TestKey(1)).entry->compile_seconds, 0.5);
  EXPECT_EQ(store.Get(TestKey(1)).tier, "memory");
  store.Remove(TestKey(1));
  EXPECT_FALSE(store.Contains(TestKey(1)));
  EXPECT_EQ(store.stats().bytes, 0u);
}

TEST(MemoryStore, DropsTheLeastRecentlyUsed) {
  const uint64_t size = TestEntry(0)->bytes.size();
  MemoryStore store(5 * size);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.Put(TestKey(i), TestEntry(i)).ok());
  EXPECT_NE(store.Get(TestKey(0)).entry, nullptr);  // young again
  ASSERT_TRUE(store.Put(TestKey(5), TestEntry(5)).ok());
  EXPECT_TRUE(store.Contains(TestKey(0)));
  EXPECT_FALSE(store.Contains(TestKey(1)));
  EXPECT_EQ(store.stats().entries, 5u);
  EXPECT_EQ(store.stats().bytes, 5 * size);
  EXPECT_EQ(store.stats().evictions, 1u);
}

TEST(MemoryStore, PutTwiceCountsOnce) {
  MemoryStore store(1 << 20);
  ASSERT_TRUE(store.Put(TestKey(1), TestEntry(1, 100)).ok());
  ASSERT_TRUE(store.Put(TestKey(1), TestEntry(1, 200)).ok());
  EXPECT_EQ(store.stats().entries, 1u);
  EXPECT_EQ(store.stats().bytes, TestEntry(1, 200)->bytes.size());
}

TEST(MemoryStore, AnEntryThatWouldEmptyItIsNotKept) {
  MemoryStore store(1000);
  ASSERT_TRUE(store.Put(TestKey(1), TestEntry(1, 900)).ok());
  EXPECT_FALSE(store.Contains(TestKey(1)));
}

TEST(TieredStore, FillsTheTiersThatLackWhatAnotherHas) {
  MemoryStore near(1 << 20), far(1 << 20);
  TieredStore tiers({&near, &far});
  ASSERT_TRUE(far.Put(TestKey(1), TestEntry(1)).ok());
  EXPECT_NE(tiers.Get(TestKey(1)).entry, nullptr);
  EXPECT_TRUE(near.Contains(TestKey(1)));
  far.Remove(TestKey(1));
  EXPECT_NE(tiers.Get(TestKey(1)).entry, nullptr);
  EXPECT_TRUE(far.Contains(TestKey(1)));
  EXPECT_EQ(tiers.Get(TestKey(2)).entry, nullptr);
}

TEST(TieredStore, ClearsAndCountsTheLastTier) {
  MemoryStore near(1 << 20), far(1 << 20);
  TieredStore tiers({&near, &far});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tiers.Put(TestKey(i), TestEntry(i)).ok());
  EXPECT_EQ(tiers.stats().entries, 3u);
  EXPECT_EQ(tiers.Clear().entries, 3u);
  EXPECT_FALSE(tiers.Contains(TestKey(0)));
}

}  // namespace
}  // namespace kiln
