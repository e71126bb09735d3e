// Invalid bytes from clients, damaged files, and full or read-only disks.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

class BadInputTest : public DaemonTest {
 protected:
  static std::string Header(uint32_t magic, uint32_t type, uint32_t length) {
    std::string bytes;
    for (const uint32_t word : {magic, type, length, 5u}) {
      bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return bytes;
  }
  // The error in reply to `bytes`. Also checks that the daemon still works.
  proto::ErrorReply ErrorFor(const std::string& bytes, bool greet = true) {
    proto::ErrorReply error;
    absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath(), greet);
    EXPECT_TRUE(client.ok());
    absl::StatusOr<Frame> answer = client->Raw(bytes);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (answer.ok()) {
      EXPECT_EQ(answer->type, FrameType::kError);
      EXPECT_TRUE(error.ParseFromString(answer->body));
    }
    EXPECT_TRUE(Client().Compile("x", 1).ok());
    return error;
  }
  // A tiny file system at the cache directory, where that is allowed.
  bool MountCache(const char* options) {
    if (!home_->Create().ok()) return false;
    mounted_ = mount("kiln-test", home_->CacheDir().c_str(), "tmpfs", 0, options) == 0;
    return mounted_ && home_->Create().ok();
  }
  ~BadInputTest() override {
    if (!mounted_) return;
    if (DaemonPid() > 0) Stop(SIGKILL);
    umount2(home_->CacheDir().c_str(), MNT_DETACH);
  }
  bool mounted_ = false;
};

TEST_F(BadInputTest, InvalidFrames) {
  ASSERT_EQ(Start(), 0);
  EXPECT_TRUE(absl::StrContains(ErrorFor(Header(0x12345678, 2, 0)).message(), "magic"));
  EXPECT_TRUE(absl::StrContains(ErrorFor(Header(kFrameMagic, 99, 0)).message(), "type"));
  EXPECT_TRUE(absl::StrContains(ErrorFor(Header(kFrameMagic, 0, 0)).message(), "type"));
  EXPECT_TRUE(
      absl::StrContains(ErrorFor(Header(kFrameMagic, 6, kMaxFrameBytes + 1)).message(), "length"));
  EXPECT_TRUE(
      absl::StrContains(ErrorFor("GET / HTTP/1.1\r\nHost: x\r\n\r\n", false).message(), "magic"));
}

TEST_F(BadInputTest, UnparsableMessages) {
  ASSERT_EQ(Start(), 0);
  const std::string junk(64, '\xff');
  for (const FrameType type : {FrameType::kHello, FrameType::kLookup, FrameType::kCompile}) {
    const std::string bytes = Header(kFrameMagic, static_cast<uint32_t>(type), 64) + junk;
    EXPECT_EQ(ErrorFor(bytes).code(), static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  }
}

TEST_F(BadInputTest, RepliesAreNotRequests) {
  ASSERT_EQ(Start(), 0);
  for (const FrameType type : {FrameType::kError, FrameType::kHelloReply, FrameType::kCompileReply,
                               FrameType::kShutdownReply}) {
    const std::string bytes = Header(kFrameMagic, static_cast<uint32_t>(type), 0);
    EXPECT_EQ(ErrorFor(bytes).code(), static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  }
}

TEST_F(BadInputTest, TheFirstMessageMustBeHello) {
  ASSERT_EQ(Start(), 0);
  const std::string bytes = Header(kFrameMagic, static_cast<uint32_t>(FrameType::kLookup), 0);
  EXPECT_EQ(ErrorFor(bytes, /*greet=*/false).code(),
            static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition));
}

TEST_F(BadInputTest, ATruncatedFrame) {
  ASSERT_EQ(Start(), 0);
  {
    TestClient client = Client();
    const std::string bytes = Header(kFrameMagic, 6, 1000) + "only this";
    ASSERT_EQ(send(client.fd(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    shutdown(client.fd(), SHUT_WR);
    absl::StatusOr<Frame> answer = ReadFrame(client.fd(), absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->type, FrameType::kError);
    // And then the stream ends.
    EXPECT_TRUE(
        absl::IsUnavailable(ReadFrame(client.fd(), absl::Now() + absl::Seconds(10)).status()));
  }
  EXPECT_TRUE(Client().Compile("x", 1).ok());
}

TEST_F(BadInputTest, DigestsOfAnotherSize) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  EXPECT_TRUE(absl::IsInvalidArgument(client.Lookup("short").status()));
  EXPECT_FALSE(client.Lookup(std::string(32, '/'))->found());
}

TEST_F(BadInputTest, DamagedEntriesAreMissesAndDeleted) {
  ASSERT_EQ(Start(), 0);
  proto::CompileReply made = *Client().Compile("x", 1);
  const std::string whole = made.entry();
  uint64_t corrupt = 0;
  std::vector<std::string> damages = {"",
                                      "x",
                                      whole.substr(0, whole.size() / 2),
                                      whole.substr(0, whole.size() - 1),
                                      whole + "x",
                                      std::string(whole.size(), '\0')};
  for (size_t at = 0; at < whole.size(); at += whole.size() / 8) {
    damages.push_back(whole);
    damages.back()[at] ^= 1;
  }
  for (const std::string& damage : damages) {
    Stop();  // the memory tier would serve the undamaged entry
    WriteFile(EntryPath(made), damage);
    ASSERT_EQ(Start(), 0);
    TestClient client = Client();
    EXPECT_FALSE(client.Lookup(made.digest())->found());
    EXPECT_FALSE(std::filesystem::exists(EntryPath(made)));
    EXPECT_EQ(client.Stats()->corrupt(), ++corrupt);
    absl::StatusOr<proto::CompileReply> again = client.Compile("x", 1);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->tier(), "compiled");
  }
}

TEST_F(BadInputTest, AnotherKeysEntryOrALinkIsNotTheEntry) {
  ASSERT_EQ(Start(), 0);
  const proto::CompileReply one = *Client().Compile("x", 1);
  const proto::CompileReply two = *Client().Compile("x", 2);
  Stop();
  WriteFile(EntryPath(one), two.entry());
  std::filesystem::rename(EntryPath(two), TempPath("elsewhere"));
  std::filesystem::create_symlink(TempPath("elsewhere"), EntryPath(two));
  ASSERT_EQ(Start(), 0);
  EXPECT_FALSE(Client().Lookup(one.digest())->found());
  EXPECT_FALSE(Client().Lookup(two.digest())->found());
  EXPECT_TRUE(std::filesystem::exists(TempPath("elsewhere")));
}

TEST_F(BadInputTest, RestoresAFileDeletedUnderARunningDaemon) {
  ASSERT_EQ(Start(), 0);
  const proto::CompileReply made = *Client().Compile("x", 1);
  unlink(EntryPath(made).c_str());
  EXPECT_EQ(Client().Compile("x", 1)->tier(), "memory");
  EXPECT_EQ(ReadFile(EntryPath(made)), made.entry());
}

TEST_F(BadInputTest, ACacheThatCannotBeWritten) {
  ASSERT_TRUE(home_->Create().ok());
  if (geteuid() == 0) {
    // Root can write anywhere except on a read-only file system or below a regular file.
    if (MountCache("size=1m,mode=700")) {
      ASSERT_EQ(
          mount("kiln-test", home_->CacheDir().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr),
          0);
    } else {
      std::filesystem::remove_all(home_->CacheDir());
      WriteFile(home_->CacheDir(), "a file");
    }
  } else {
    chmod(home_->CacheDir().c_str(), 0500);
    chmod(home_->TempDir().c_str(), 0500);
  }
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  for (int seed = 0; seed < 3; ++seed) EXPECT_TRUE(client.Compile("x", seed).ok());
  EXPECT_EQ(client.Compile("x", 1)->tier(), "memory");
  // Reported once.
  const std::string log = LogText();
  const size_t first = log.find("cannot write to the cache");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("cannot write to the cache", first + 1), std::string::npos) << log;
  if (geteuid() != 0) chmod(home_->CacheDir().c_str(), 0700);
}

TEST_F(BadInputTest, AHomeThatCannotBeMade) {
  WriteFile(home_->dir(), "a file where the home should be");
  ASSERT_EQ(
      RunProgram({KilndPath(), "--home=" + home_->dir(), "--worker=" + worker_, "--daemonize"}), 0);
  TestClient client = Client();
  EXPECT_TRUE(client.Compile("x", 1).ok());
  EXPECT_EQ(client.Compile("x", 1)->tier(), "memory");
  EXPECT_TRUE(
      client.Call<proto::ShutdownReply>(FrameType::kShutdown, proto::ShutdownRequest()).ok());
  while (std::filesystem::exists(SocketPath())) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(BadInputTest, AFullDisk) {
  // Without the right to mount, a limit on file sizes fails writes in the same place.
  const bool small_disk = MountCache("size=64k,mode=700");
  rlimit before = {};
  if (!small_disk) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small = {32 << 10, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ASSERT_EQ(Start(), 0);
  if (!small_disk) setrlimit(RLIMIT_FSIZE, &before);
  TestClient client = Client();
  absl::StatusOr<proto::CompileReply> reply = client.Compile("big 100000", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->tier(), "compiled");
  EXPECT_FALSE(std::filesystem::exists(EntryPath(*reply)));
  EXPECT_TRUE(std::filesystem::is_empty(home_->TempDir()));  // no partly written file stays
  EXPECT_EQ(client.Compile("big 100000", 1)->tier(), "memory");
  EXPECT_TRUE(absl::StrContains(LogText(), "cannot write to the cache")) << LogText();
}

TEST_F(BadInputTest, StaysWithinTheBudget) {
  ASSERT_EQ(Start({"--cache-bytes=1000000"}), 0);
  TestClient client = Client();
  const proto::CompileReply hot = *client.Compile("big 100000", 1000);
  for (int seed = 0; seed < 30; ++seed) {
    ASSERT_TRUE(client.Compile("big 100000", seed).ok());
    // A client that reads the disk tier itself marks its entry as used through the log.
    std::ofstream(home_->HitLogPath(), std::ios::app | std::ios::binary) << hot.digest();
    absl::SleepFor(absl::Milliseconds(20));
  }
  absl::SleepFor(absl::Milliseconds(300));
  absl::StatusOr<proto::StatsReply> stats = client.Stats();
  EXPECT_LE(stats->bytes(), 1000000u);
  EXPECT_GT(stats->evictions(), 15u);
  EXPECT_EQ(stats->hits_by_tier().at("client"), 30u);
  EXPECT_GE(stats->seconds_saved(), 0);
}

TEST_F(BadInputTest, StatisticsIncludeChangesByOtherProcesses) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  const proto::CompileReply one = *client.Compile("x", 1);
  ASSERT_TRUE(client.Compile("x", 2).ok());
  EXPECT_EQ(client.Stats()->entries(), 2u);
  absl::SleepFor(absl::Milliseconds(3100));  // times of use have a resolution of a second
  unlink(EntryPath(one).c_str());
  EXPECT_EQ(client.Stats()->entries(), 1u);
  WriteFile(EntryPath(one), one.entry());
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_EQ(client.Stats()->entries(), 2u);
}

TEST_F(BadInputTest, ClearEmptiesTheCache) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  for (int seed = 0; seed < 5; ++seed) ASSERT_TRUE(client.Compile("x", seed).ok());
  absl::StatusOr<proto::ClearReply> cleared =
      client.Call<proto::ClearReply>(FrameType::kClear, proto::ClearRequest());
  ASSERT_TRUE(cleared.ok());
  EXPECT_EQ(cleared->entries(), 5u);
  EXPECT_GT(cleared->bytes(), 0u);
  EXPECT_EQ(client.Stats()->entries(), 0u);
  EXPECT_EQ(client.Compile("x", 1)->tier(), "compiled");
}

TEST_F(BadInputTest, ADamagedStatsFileAndHitLogCountAsNothing) {
  ASSERT_TRUE(home_->Create().ok());
  WriteFile(home_->StatsPath(), std::string(300, '\xee'));
  WriteFile(home_->HitLogPath(), std::string(1000, '\x01'));
  WriteFile(home_->CompilerIdPath(), "nonsense");
  ASSERT_EQ(Start(), 0);
  EXPECT_TRUE(Client().Compile("x", 1).ok());
  EXPECT_EQ(Client().Stats()->compiles(), 1u);
}

}  // namespace
}  // namespace kiln
