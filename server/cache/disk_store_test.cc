#include "server/cache/disk_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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
    ASSERT_EQ(utimensat(AT_FDCWD, home_->EntryPath(TestPlace(number)).c_str(), times, 0), 0);
  }

  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    std::error_code gone;
    for (const auto& dir : std::filesystem::directory_iterator(home_->CacheDir())) {
      if (dir.path() == home_->TempDir()) continue;
      for (const auto& file : std::filesystem::directory_iterator(dir.path(), gone)) {
        const uint64_t size = file.file_size(gone);
        if (!gone) bytes += size;
      }
    }
    return bytes;
  }

  std::string dir_;
  std::unique_ptr<Home> home_;
  DiskOptions options_;
  std::vector<std::string> warnings_;
};

TEST_F(DiskStoreTest, OutlivesTheStore) {
  ASSERT_TRUE(DiskStore(*home_, options_).Put(TestPlace(1), TestEntry(1)).ok());
  DiskStore store(*home_, options_);
  const Found found = store.Get(TestPlace(1));  // before any scan
  ASSERT_NE(found.entry, nullptr);
  EXPECT_EQ(found.entry->bytes, TestEntry(1)->bytes);
  struct stat st;
  ASSERT_EQ(stat(home_->EntryPath(TestPlace(1)).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  EXPECT_TRUE(std::filesystem::is_empty(home_->TempDir()));
}

TEST_F(DiskStoreTest, EveryFlippedByteIsAMiss) {
  DiskStore store(*home_, options_);
  const std::string whole = TestEntry(1)->bytes;
  for (size_t at = 0; at < whole.size(); ++at) {
    ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1)).ok());
    std::string bytes = whole;
    bytes[at] ^= 0x10;
    std::ofstream(home_->EntryPath(TestPlace(1)), std::ios::binary) << bytes;
    EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr) << "byte " << at;
    EXPECT_FALSE(store.Contains(TestPlace(1)));
  }
  EXPECT_EQ(store.stats().corrupt, whole.size());
  EXPECT_EQ(store.stats().entries, 0u);
  EXPECT_EQ(store.stats().bytes, 0u);
}

TEST_F(DiskStoreTest, ScanFindsEntriesAndIgnoresOtherFiles) {
  {
    DiskStore store(*home_, options_);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  }
  std::ofstream(home_->CacheDir() + "/README") << "hello";
  std::filesystem::create_directory(home_->CacheDir() + "/zz");
  const std::string fresh = home_->TempDir() + "/0123456789abcdef.0123456789abcdef.1";
  const std::string old = home_->TempDir() + "/0123456789abcdef.0123456789abcdef.2";
  const std::string of_a_client = home_->TempDir() + "/" + TestPlace(1).Hex() + ".4711.0";
  const std::string letter = home_->TempDir() + "/letter.txt";
  for (const std::string& path : {fresh, old, of_a_client, letter}) {
    std::ofstream(path) << "text";
    if (path == fresh) continue;
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  DiskStore store(*home_, options_);
  EXPECT_FALSE(store.AwaitScan(absl::ZeroDuration()));
  store.Scan();
  EXPECT_TRUE(store.AwaitScan(absl::ZeroDuration()));
  EXPECT_EQ(store.stats().entries, 20u);
  EXPECT_EQ(store.stats().bytes, 20 * TestEntry(0)->bytes.size());
  EXPECT_TRUE(std::filesystem::exists(fresh));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_FALSE(std::filesystem::exists(of_a_client));
  EXPECT_TRUE(std::filesystem::exists(letter)) << "its name is none that we give";
}

TEST_F(DiskStoreTest, EvictsTheLeastRecentlyUsedByFileTimes) {
  const uint64_t size = TestEntry(0)->bytes.size();
  {
    DiskStore store(*home_, options_);
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  }
  for (int i = 0; i < 12; ++i) Age(i, 1000000 + i);
  options_.max_bytes = 10 * size;
  DiskStore store(*home_, options_);
  store.Scan();
  EXPECT_EQ(store.Touch(TestPlace(0)), 0.5);  // a client's hit
  store.Maintain();
  EXPECT_EQ(store.stats().entries, 9u);  // eviction leaves some room
  EXPECT_TRUE(store.Contains(TestPlace(0)));
  EXPECT_FALSE(store.Contains(TestPlace(1)));
  EXPECT_TRUE(store.Contains(TestPlace(11)));
  EXPECT_EQ(store.stats().evictions, 3u);
  // The time of use is on disk, where the next store finds it.
  struct stat st;
  ASSERT_EQ(stat(home_->EntryPath(TestPlace(0)).c_str(), &st), 0);
  EXPECT_GT(st.st_mtime, 2000000);
}

TEST_F(DiskStoreTest, TheBudgetIsNeverExceeded) {
  const uint64_t size = TestEntry(0)->bytes.size();
  options_.max_bytes = 10 * size;
  std::atomic<bool> told{false};
  options_.over_budget = [&told] { told = true; };
  DiskStore store(*home_, options_);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i, 100 + i)).ok());
    EXPECT_LE(BytesOnDisk(), options_.max_bytes);
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(store.Put(TestPlace(100 * t + i), TestEntry(100 * t + i)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(BytesOnDisk(), options_.max_bytes);
  EXPECT_EQ(BytesOnDisk(), store.stats().bytes);
  EXPECT_TRUE(told);
  EXPECT_TRUE(absl::IsResourceExhausted(store.Put(TestPlace(1), TestEntry(1, 20 * size))));
}

TEST_F(DiskStoreTest, KeepsTheHotSet) {
  constexpr int kKept = 200, kKeys = 2000, kSteps = 12000;
  bool nudged = false;
  options_.max_bytes = kKept * TestEntry(0)->bytes.size();
  options_.over_budget = [&nudged] { nudged = true; };
  DiskStore store(*home_, options_);
  store.Scan();
  std::vector<double> weights;
  for (int i = 0; i < kKeys; ++i) weights.push_back(1.0 / (i + 1));  // Zipf
  std::discrete_distribution<int> zipf(weights.begin(), weights.end());
  std::mt19937 random(3);
  std::list<int> ideal;  // an LRU list of as many entries as fit
  int ideal_hits = 0, hits = 0;
  for (int step = 0; step < kSteps; ++step) {
    const int key = zipf(random);
    const auto at = std::find(ideal.begin(), ideal.end(), key);
    if (at != ideal.end()) {
      ++ideal_hits;
      ideal.erase(at);
    } else if (ideal.size() == kKept) {
      ideal.pop_back();
    }
    ideal.push_front(key);
    if (store.Get(TestPlace(key)).entry != nullptr) {
      ++hits;
    } else {
      ASSERT_TRUE(store.Put(TestPlace(key), TestEntry(key)).ok());
    }
    if (std::exchange(nudged, false)) store.Maintain();
  }
  EXPECT_GE(hits, 0.95 * ideal_hits) << hits << " hits, an ideal list has " << ideal_hits;
}

TEST_F(DiskStoreTest, SeveralStoresShareOneDirectory) {
  const uint64_t size = TestEntry(0)->bytes.size();
  options_.max_bytes = 100 * size;
  DiskStore one(*home_, options_), other(*home_, options_);
  one.Scan();
  other.Scan();
  for (int i = 0; i < 90; ++i) ASSERT_TRUE(one.Put(TestPlace(i), TestEntry(i)).ok());
  EXPECT_NE(other.Get(TestPlace(3)).entry, nullptr);  // visible immediately
  for (int i = 90; i < 180; ++i) ASSERT_TRUE(other.Put(TestPlace(i), TestEntry(i)).ok());
  other.Maintain();  // finds the first store's entries, and limits the sum of both
  one.Maintain();
  EXPECT_LE(BytesOnDisk(), options_.max_bytes);
  EXPECT_TRUE(one.Contains(TestPlace(3)));
  EXPECT_FALSE(one.Contains(TestPlace(4)));
  EXPECT_EQ(one.stats().entries, other.stats().entries);
  EXPECT_EQ(other.Get(TestPlace(4)).entry, nullptr);
  // Both together.
  std::vector<std::thread> threads;
  for (DiskStore* store : {&one, &other}) {
    threads.emplace_back([&, store] {
      std::mt19937 random(1);
      for (int step = 0; step < 1000; ++step) {
        const int key = static_cast<int>(random() % 150);
        const Found found = store->Get(TestPlace(key));
        if (found.entry == nullptr) {
          ASSERT_TRUE(store->Put(TestPlace(key), TestEntry(key)).ok());
        }
        if (step % 50 == 0) store->Maintain();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(one.stats().corrupt + other.stats().corrupt, 0u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(DiskStoreTest, IgnoresTimesInTheFuture) {
  const uint64_t size = TestEntry(0)->bytes.size();
  {
    DiskStore store(*home_, options_);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  }
  for (int i = 0; i < 5; ++i) Age(i, absl::ToUnixSeconds(absl::Now()) + 86400 * 365);
  options_.max_bytes = 10 * size;
  DiskStore store(*home_, options_);
  store.Scan();
  // Used now, so more recent than files with times in the future.
  for (int i = 5; i < 10; ++i) EXPECT_NE(store.Get(TestPlace(i)).entry, nullptr);
  for (int i = 10; i < 15; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  for (int i = 0; i < 15; ++i) EXPECT_EQ(store.Contains(TestPlace(i)), i >= 5) << i;
}

TEST_F(DiskStoreTest, ReadOnlyChangesNothing) {
  {
    DiskStore store(*home_, options_);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  }
  std::ofstream(home_->EntryPath(TestPlace(2)), std::ios::binary) << "damaged";
  std::ofstream(home_->TempDir() + "/old") << "abandoned";
  std::filesystem::last_write_time(
      home_->TempDir() + "/old",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  const auto snapshot = [this] {
    std::vector<std::string> lines;
    for (const auto& file : std::filesystem::recursive_directory_iterator(dir_)) {
      lines.push_back(absl::StrCat(file.path().string(), " ",
                                   file.is_regular_file() ? file.file_size() : 0, " ",
                                   file.last_write_time().time_since_epoch().count()));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  const std::vector<std::string> before = snapshot();
  options_.read_only = true;
  options_.max_bytes = 1;
  DiskStore store(*home_, options_);
  store.Scan();
  EXPECT_NE(store.Get(TestPlace(1)).entry, nullptr);
  EXPECT_EQ(store.Get(TestPlace(2)).entry, nullptr);
  EXPECT_FALSE(store.Put(TestPlace(5), TestEntry(5)).ok());
  store.Touch(TestPlace(0));
  store.Remove(TestPlace(0));
  store.Maintain();
  EXPECT_EQ(store.Clear().entries, 0u);
  EXPECT_EQ(snapshot(), before);
}

TEST_F(DiskStoreTest, SyncedEntriesAreKept) {
  options_.sync = true;
  ASSERT_TRUE(DiskStore(*home_, options_).Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_NE(DiskStore(*home_, options_).Get(TestPlace(1)).entry, nullptr);
}

TEST_F(DiskStoreTest, RecreatesItsDirectories) {
  DiskStore store(*home_, options_);
  std::filesystem::remove_all(home_->dir());
  EXPECT_TRUE(store.Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_NE(store.Get(TestPlace(1)).entry, nullptr);
}

TEST_F(DiskStoreTest, AFailedWriteIsReportedOnceAndPausesWrites) {
  DiskStore store(*home_, options_);
  std::filesystem::remove_all(home_->CacheDir());
  std::ofstream(home_->CacheDir()) << "a file where the directory was";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(store.Put(TestPlace(i), TestEntry(i)).ok());
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
}

// Links in the places where others could put them; each leads to a folder with an old file.
class LinksTest : public DiskStoreTest {
 protected:
  // The files have names that the store would delete in its own folders.
  std::string Documents(const std::string& file) const {
    const std::string folder = dir_ + "/documents";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + file) << "precious";
    std::filesystem::last_write_time(
        folder + "/" + file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    return folder;
  }
};

TEST_F(LinksTest, DoesNotFollowALinkInPlaceOfTheTemporaryFolder) {
  const std::string file = "0123456789abcdef.0123456789abcdef.2";
  const std::string documents = Documents(file);
  std::filesystem::remove(home_->TempDir());
  std::filesystem::create_directory_symlink(documents, home_->TempDir());
  DiskStore store(*home_, options_);
  store.Scan();
  EXPECT_FALSE(store.Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_TRUE(std::filesystem::exists(documents + "/" + file));
}

TEST_F(LinksTest, DoesNotFollowALinkInPlaceOfAShard) {
  const std::string documents = Documents(Home::EntryName(TestPlace(1)));
  std::filesystem::create_directory_symlink(
      documents, home_->CacheDir() + "/" + Home::ShardName(TestPlace(1)));
  DiskStore store(*home_, options_);
  store.Scan();
  EXPECT_EQ(store.stats().entries, 0u);
  EXPECT_FALSE(store.Put(TestPlace(1), TestEntry(1)).ok());
  EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
  store.Remove(TestPlace(1));
  store.Clear();
  EXPECT_TRUE(std::filesystem::exists(documents + "/" + Home::EntryName(TestPlace(1))));
}

TEST_F(DiskStoreTest, DoesNotUseACacheThatOthersCanWrite) {
  DiskStore store(*home_, options_);
  ASSERT_TRUE(store.Put(TestPlace(1), TestEntry(1)).ok());
  ASSERT_EQ(chmod(home_->CacheDir().c_str(), 0777), 0);
  EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
  EXPECT_FALSE(store.Put(TestPlace(2), TestEntry(2)).ok());
  store.Remove(TestPlace(1));
  EXPECT_EQ(store.Clear().entries, 0u);
  EXPECT_TRUE(std::filesystem::exists(home_->EntryPath(TestPlace(1))));
}

TEST_F(DiskStoreTest, ADirectoryInAnEntrysPlaceIsNotADiskFailure) {
  DiskStore store(*home_, options_);
  const std::string path = home_->EntryPath(TestPlace(1));
  std::filesystem::create_directories(path + "/inner");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
  ASSERT_EQ(warnings_.size(), 1u) << "it cannot be deleted, which is said once";
  EXPECT_EQ(warnings_[0].find("passed by the damaged entry"), 0u) << warnings_[0];
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(store.Put(TestPlace(1), TestEntry(1)).ok());
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_NE(warnings_[1].find(path + " is a directory, in the place of an entry; remove it"),
            std::string::npos)
      << warnings_[1];
  EXPECT_TRUE(store.Put(TestPlace(2), TestEntry(2)).ok()) << "others are written all the same";
  std::filesystem::remove(path + "/inner");
  EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
  EXPECT_FALSE(std::filesystem::exists(path)) << "an empty one is removed";
  EXPECT_TRUE(store.Put(TestPlace(1), TestEntry(1)).ok());
}

TEST_F(DiskStoreTest, ClearRemovesAll) {
  DiskStore store(*home_, options_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.Put(TestPlace(i), TestEntry(i)).ok());
  EXPECT_EQ(store.Clear().entries, 5u);
  EXPECT_EQ(store.stats().entries, 0u);
  EXPECT_EQ(store.Get(TestPlace(1)).entry, nullptr);
  EXPECT_TRUE(store.Put(TestPlace(1), TestEntry(1)).ok());
}

}  // namespace
}  // namespace kiln
