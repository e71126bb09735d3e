// The daemon's guarantees for the disk tier: it loses no acknowledged entry, whatever kills it; it
// starts immediately, however full its directory is; several daemons may share a directory.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/base/digest.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

class StorageTest : public DaemonTest {
 protected:
  double ResidentMegabytes() const { return ResidentKilobytes(DaemonPid()) / 1024.0; }
  // Kills the daemon; returns when its last thread has released the home.
  void Kill() {
    Stop(SIGKILL);
    const int fd = open(home_->LockPath().c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    close(fd);
  }
  // Files that are not whole entries for their names.
  std::vector<std::string> DamagedFiles() const {
    std::vector<std::string> damaged;
    for (const auto& file : fs::recursive_directory_iterator(home_->CacheDir())) {
      if (file.path().extension() != ".so") continue;
      const Key key = *Key::FromHex(file.path().stem().string());
      if (!DecodeEntry(ReadFile(file.path()), &key).ok()) damaged.push_back(file.path());
    }
    return damaged;
  }
};

TEST_F(StorageTest, AHundredThousandEntriesDoNotDelayTheFirstHit) {
  constexpr int kEntries = 100000;
  ASSERT_TRUE(home_->Create().ok());
  for (int shard = 0; shard < 256; ++shard) {
    mkdir(absl::StrCat(home_->CacheDir(), "/", absl::Hex(shard, absl::kZeroPad2)).c_str(), 0700);
  }
  // Only the number of names matters, so all but one are links to a few files, which is fast.
  constexpr int kNamesOfOne = 10000;
  std::string file;
  for (int i = 0; i < kEntries - 1; ++i) {
    const Key key(Sha256Of(absl::StrCat(i)));
    const std::string path = home_->EntryPath(PlaceOf(key));
    if (i % kNamesOfOne == 0) {
      file = path;
      WriteFile(path, EncodeEntry(key, "small", proto::ArtifactInfo()));
    } else {
      ASSERT_EQ(link(file.c_str(), path.c_str()), 0);
    }
  }
  const Key last(Sha256Of("the last"));
  WriteFile(home_->EntryPath(PlaceOf(last)), EncodeEntry(last, "small", proto::ArtifactInfo()));
  const absl::Time start = absl::Now();
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  const auto found = client.Lookup(std::string(last.view()));
  const absl::Duration took = absl::Now() - start;
  ASSERT_TRUE(found.ok() && found->found());
  EXPECT_LE(took, absl::Seconds(kSanitized ? 10 : 1));
  const double before = ResidentMegabytes();
  uint64_t entries = 0;
  for (int i = 0; i < 100 && entries < kEntries; ++i) {
    entries = client.Stats()->entries();
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(entries, static_cast<uint64_t>(kEntries));
  const absl::Duration scanned = absl::Now() - start;
  const double after = ResidentMegabytes();
  std::printf("first hit after %s, all known after %s; %.1f MB before the scan, %.1f after\n",
              absl::FormatDuration(took).c_str(), absl::FormatDuration(scanned).c_str(), before,
              after);
  EXPECT_LE(after - before, kSanitized ? 256 : 32);
}

TEST_F(StorageTest, AKilledDaemonLosesNoAcknowledgedEntry) {
  constexpr int kRounds = 200, kWriters = 4;
  std::mt19937 random(1);
  uint64_t seed = 1;
  std::vector<std::string> acknowledged;
  std::vector<absl::Duration> restarts;
  // On a machine with a busy disk, sync may take long.
  const absl::Time enough = absl::Now() + absl::Minutes(4);
  for (int round = 0; round < kRounds && absl::Now() < enough; ++round) {
    const absl::Time start = absl::Now();
    ASSERT_EQ(Start({"--sync"}), 0) << "round " << round;
    if (!acknowledged.empty()) {
      const auto found = Client().Lookup(acknowledged.back());
      ASSERT_TRUE(found.ok() && found->found()) << "round " << round;
    }
    restarts.push_back(absl::Now() - start);
    std::atomic<bool> stop{false};
    absl::Mutex mutex;
    std::vector<std::string> now;
    std::vector<std::thread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, first = seed + 100000 * w] {
        absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath());
        for (uint64_t n = first; client.ok() && !stop; ++n) {
          const auto reply = client->Compile("big 5000", n);
          if (!reply.ok()) return;  // the daemon was killed
          absl::MutexLock lock(&mutex);
          now.push_back(reply->digest());
        }
      });
    }
    seed += 100000 * kWriters;
    absl::SleepFor(absl::Milliseconds(5 + random() % 60));
    Kill();
    stop = true;
    for (std::thread& writer : writers) writer.join();
    for (const std::string& digest : now) {
      const Key key = *Key::FromBytes(digest);
      ASSERT_TRUE(DecodeEntry(ReadFile(home_->EntryPath(PlaceOf(key))), &key).ok())
          << "round " << round << ": lost " << key.Hex();
    }
    acknowledged.insert(acknowledged.end(), now.begin(), now.end());
  }
  EXPECT_EQ(DamagedFiles(), std::vector<std::string>());
  EXPECT_GE(restarts.size(), 20u);
  EXPECT_GT(acknowledged.size(), kSanitized ? 10 : restarts.size());
  ASSERT_EQ(Start({"--sync"}), 0);
  TestClient client = Client();
  for (const std::string& digest : acknowledged) {
    const auto found = client.Lookup(digest);
    ASSERT_TRUE(found.ok() && found->found());
    const Key key = *Key::FromBytes(digest);
    ASSERT_TRUE(DecodeEntry(found->entry(), &key).ok());
  }
  EXPECT_EQ(client.Stats()->corrupt(), 0u);
  std::sort(restarts.begin(), restarts.end());
  std::printf("%zu rounds, %zu acknowledged; from start to first hit: median %s, worst %s\n",
              restarts.size(), acknowledged.size(),
              absl::FormatDuration(restarts[restarts.size() / 2]).c_str(),
              absl::FormatDuration(restarts.back()).c_str());
  EXPECT_LE(restarts[restarts.size() / 2], absl::Seconds(1));
}

TEST_F(StorageTest, TwoDaemonsShareADirectory) {
  const Home other = *Home::Find(TempPath("other"));
  fs::create_directories(other.dir());
  ASSERT_EQ(Start(), 0);
  fs::create_directory_symlink(home_->CacheDir(), other.CacheDir());
  ASSERT_EQ(RunProgram({KilndPath(), "--home=" + other.dir(), "--worker=" + worker_, "--workers=1",
                        "--daemonize"}),
            0);
  TestClient here = Client();
  {
    absl::StatusOr<TestClient> there = TestClient::Connect(*other.SocketPath());
    ASSERT_TRUE(there.ok());
    const auto made = here.Compile("x", 1);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(there->Compile("x", 1)->tier(), "disk");
    EXPECT_EQ(Jobs().size(), 1u);
    // Both daemons write at the same time, equal and different entries.
    std::vector<std::thread> writers;
    for (TestClient* client : {&here, &*there}) {
      writers.emplace_back([client] {
        for (int i = 2; i < 60; ++i) EXPECT_TRUE(client->Compile("big 3000", i).ok());
      });
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(DamagedFiles(), std::vector<std::string>());
    EXPECT_EQ(here.Stats()->entries(), 59u);
    EXPECT_EQ(there->Stats()->entries(), 59u);
    there->Call<proto::ShutdownReply>(FrameType::kShutdown, proto::ShutdownRequest())
        .status()
        .IgnoreError();
  }
}

// The build id in an ELF file, which distinguishes compilers; null if there is none.
char* BuildIdOf(std::string* file) {
  const std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  const size_t at = file->find(note);
  return at == std::string::npos ? nullptr : &(*file)[at + note.size()];
}

TEST_F(StorageTest, TwoVersionsShareADirectory) {
  // The same worker with another build id, like its next version.
  std::string next = ReadFile(worker_);
  char* id = BuildIdOf(&next);
  ASSERT_NE(id, nullptr);
  *id ^= 1;
  WriteFile(TempPath("next-worker"), next);
  fs::permissions(TempPath("next-worker"), fs::perms::owner_all);
  const Home other = *Home::Find(TempPath("other"));
  fs::create_directories(other.dir());
  // No memory tier, so that entries are found in the directory.
  const std::string config = "--config=" + TempPath("kilnd.conf");
  WriteFile(TempPath("kilnd.conf"), "memory { max_bytes: 1 }");
  ASSERT_EQ(Start({config}), 0);
  fs::create_directory_symlink(home_->CacheDir(), other.CacheDir());
  ASSERT_EQ(RunProgram({KilndPath(), "--home=" + other.dir(), "--worker=" + TempPath("next-worker"),
                        config, "--workers=1", "--daemonize"}),
            0);
  TestClient here = Client();
  absl::StatusOr<TestClient> there = TestClient::Connect(*other.SocketPath());
  ASSERT_TRUE(there.ok());
  const auto ours = here.Compile("x", 1), theirs = there->Compile("x", 1);
  ASSERT_TRUE(ours.ok() && theirs.ok()) << ours.status() << theirs.status();
  EXPECT_NE(ours->digest(), theirs->digest());
  EXPECT_EQ(Jobs().size(), 2u);
  // Each daemon finds its own entries and does not touch the other's.
  EXPECT_EQ(here.Compile("x", 1)->tier(), "disk");
  EXPECT_EQ(there->Compile("x", 1)->tier(), "disk");
  EXPECT_EQ(here.Stats()->entries(), 2u);

  // An entry in an unknown format is a miss.
  std::string entry = ReadFile(EntryPath(*ours));
  const size_t version = entry.size() - kTrailerSize + 56;  // common/artifact/entry.h
  entry[version] = static_cast<char>(entry[version] + 1);
  WriteFile(EntryPath(*ours), entry);
  const auto again = here.Compile("x", 1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->tier(), "compiled");
  EXPECT_EQ(ReadFile(EntryPath(*ours)), again->entry());
  there->Call<proto::ShutdownReply>(FrameType::kShutdown, proto::ShutdownRequest())
      .status()
      .IgnoreError();
}

}  // namespace
}  // namespace kiln
