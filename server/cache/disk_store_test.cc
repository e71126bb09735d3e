#include "server/cache/disk_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "server/cache/test_entry.h"

namespace kiln {
namespace {

class DiskStoreTest : public testing::Test {
 protected:
  DiskStoreTest() {
    std::string pattern = testing::TempDir() + "/disk-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    home_ = std::make_unique<Home>(*Home::Find(dir_));
    EXPECT_TRUE(home_->Create().ok());
    options_.warn = [this](const std::string& message) { warnings_.push_back(message); };
  }
  ~DiskStoreTest() override { std::filesystem::remove_all(dir_); }

  void Age(int number, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, home_->EntryPath(TestKey(number)).c_str(), times, 0), 0);
  }

  std::string dir_;
  std::unique_ptr<Home> home_;
  DiskOptions options_;
  std::vector<std::string> warnings_;
};

TEST_F(DiskStoreTest, OutlivesTheStore) {
  ASSERT_TRUE(DiskStore(*home_, options_).Put(TestKey(1), TestEntry(1)).ok());
  DiskStore store(*home_, options_);
  const Found found = store.Get(TestKey(1));  // before any scan
  ASSERT_NE(found.entry, nullptr);
  EXPECT_EQ(found.entry->bytes, TestEntry(1)->bytes);
  struct stat st;
  ASSERT_EQ(stat(home_->EntryPath(TestKey(1)).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  EXPECT_TRUE(std::filesystem::is_empty(home_->TempDir()));
}

TEST_F(DiskStoreTest, EveryFlippedByteIsAMiss) {
  DiskStore store(*home_, options_);
  const std::string whole = TestEntry(1)->bytes;
  for (size_t at = 0; at < whole.size(); ++at) {
    ASSERT_TRUE(store.Put(TestKey(1), TestEntry(1)).ok());
    std::string bytes = whole;
    bytes[at] ^= 0x10;
    std::ofstream(home_->EntryPath(TestKey(1)), std::ios::binary) << bytes;
    EXPECT_EQ(store.Get(TestKey(1)).entry, nullptr) << "byte " << at;
    EXPECT_FALSE(store.Contains(TestKey(1)));
  }
  EXPECT_EQ(store.stats().corrupt, whole.size());
  EXPECT_EQ(store.stats().entries, 0u);
  EXPECT_EQ(store.stats().bytes, 0u);
}

TEST_F(DiskStoreTest, ScanFindsWhatIsThereAndIgnoresTheRest) {
  {
    DiskStore store(*home_, options_);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store.Put(TestKey(i), TestEntry(i)).ok());
  }
  std::ofstream(home_->CacheDir() + "/README") << "hello";
  std::filesystem::create_directory(home_->CacheDir() + "/zz");
  std::ofstream(home_->TempDir() + "/fresh") << "being written";
  std::ofstream(home_->TempDir() + "/old") << "abandoned";
  std::filesystem::last_write_time(
      home_->TempDir() + "/old",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  DiskStore store(*home_, options_);
  EXPECT_FALSE(store.AwaitScan(absl::ZeroDuration()));
  store.Scan();
  EXPECT_TRUE(store.AwaitScan(absl::ZeroDuration()));
  EXPECT_EQ(store.stats().entries, 20u);
  EXPECT_EQ(store.stats().bytes, 20 * TestEntry(0)->bytes.size());
  EXPECT_TRUE(std::filesystem::exists(home_->TempDir() + "/fresh"));
  EXPECT_FALSE(std::filesystem::exists(home_->TempDir() + "/old"));
}

TEST_F(DiskStoreTest, EvictsTheLeastRecentlyUsedByFileTimes) {
  const uint64_t size = TestEntry(0)->bytes.size();
  options_.max_bytes = 10 * size;
  {
    DiskStore store(*home_, options_);
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(store.Put(TestKey(i), TestEntry(i)).ok());
  }
  for (int i = 0; i < 12; ++i) Age(i, 1000000 + i);
  DiskStore store(*home_, options_);
  store.Scan();
  EXPECT_EQ(store.Touch(TestKey(0)), 0.5);  // a client's hit
  store.Maintain();
  EXPECT_LE(store.stats().bytes, 9 * size);
  EXPECT_TRUE(store.Contains(TestKey(0)));
  EXPECT_FALSE(store.Contains(TestKey(1)));
  EXPECT_TRUE(store.Contains(TestKey(11)));
  EXPECT_EQ(store.stats().evictions, 3u);
  // The use is on disk, where the next store finds it.
  struct stat st;
  ASSERT_EQ(stat(home_->EntryPath(TestKey(0)).c_str(), &st), 0);
  EXPECT_GT(st.st_mtime, 2000000);
}

TEST_F(DiskStoreTest, TellsWhenItIsOverBudget) {
  bool told = false;
  options_.max_bytes = 1;
  options_.over_budget = [&told] { told = true; };
  DiskStore store(*home_, options_);
  ASSERT_TRUE(store.Put(TestKey(1), TestEntry(1)).ok());
  EXPECT_TRUE(told);
}

TEST_F(DiskStoreTest, MakesItsDirectoriesAgain) {
  DiskStore store(*home_, options_);
  std::filesystem::remove_all(home_->dir());
  EXPECT_TRUE(store.Put(TestKey(1), TestEntry(1)).ok());
  EXPECT_NE(store.Get(TestKey(1)).entry, nullptr);
}

TEST_F(DiskStoreTest, AFailedWriteIsToldOnceAndPausesWrites) {
  DiskStore store(*home_, options_);
  std::filesystem::remove_all(home_->CacheDir());
  std::ofstream(home_->CacheDir()) << "a file where the directory was";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(store.Put(TestKey(i), TestEntry(i)).ok());
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(store.Get(TestKey(1)).entry, nullptr);
}

TEST_F(DiskStoreTest, ClearRemovesAll) {
  DiskStore store(*home_, options_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.Put(TestKey(i), TestEntry(i)).ok());
  EXPECT_EQ(store.Clear().entries, 5u);
  EXPECT_EQ(store.stats().entries, 0u);
  EXPECT_EQ(store.Get(TestKey(1)).entry, nullptr);
  EXPECT_TRUE(store.Put(TestKey(1), TestEntry(1)).ok());
}

}  // namespace
}  // namespace kiln
