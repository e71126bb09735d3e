// The daemon's life cycle: one per home, detached, orderly shutdown and replacement.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

class LifeTest : public DaemonTest {};

TEST_F(LifeTest, StarterReturnsOnceTheSocketAccepts) {
  ASSERT_EQ(Start(), 0);
  EXPECT_TRUE(TestClient::Connect(SocketPath()).ok());
  struct stat st;
  ASSERT_EQ(stat(SocketPath().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(LifeTest, SixtyFourStartersYieldOneDaemon) {
  std::vector<std::thread> starters;
  std::atomic<int> good{0};
  for (int i = 0; i < 64; ++i) {
    starters.emplace_back([&] {
      if (RunProgram({KilndPath(), "--home=" + home_->dir(), "--worker=" + worker_, "--workers=1",
                      "--daemonize"}) == 0 &&
          TestClient::Connect(SocketPath()).ok()) {
        ++good;
      }
    });
  }
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(good, 64);
  std::set<uint32_t> pids;
  for (int i = 0; i < 4; ++i) pids.insert(Client().Stats()->pid());
  EXPECT_EQ(pids, std::set<uint32_t>{static_cast<uint32_t>(DaemonPid())});
  int daemons = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string command = ReadFile(entry.path().string() + "/cmdline");
    if (command.find("kilnd") != std::string::npos &&
        command.find(home_->dir()) != std::string::npos) {
      ++daemons;
    }
  }
  EXPECT_EQ(daemons, 1);
}

TEST_F(LifeTest, IsDetached) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // inherited by the starter, and so by a careless daemon
  ASSERT_EQ(Start(), 0);
  close(ends[1]);
  pollfd entry = {ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&entry, 1, 2000), 1) << "someone still holds the pipe";
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
  const pid_t pid = DaemonPid();
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_EQ(std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/cwd")), "/");
  EXPECT_EQ(std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/fd/1")), "/dev/null");
  const std::string environment = ReadFile(absl::StrCat("/proc/", pid, "/environ"));
  EXPECT_NE(ReadFile(absl::StrCat("/proc/", pid, "/status")).find("Name:\tkilnd"),
            std::string::npos);
}

TEST_F(LifeTest, TakesOverFilesOfADeadDaemon) {
  ASSERT_EQ(Start(), 0);
  const pid_t first = DaemonPid();
  kill(first, SIGKILL);
  ASSERT_TRUE(AwaitEnd(first));
  EXPECT_TRUE(std::filesystem::exists(SocketPath()));  // stale
  EXPECT_EQ(DaemonPid(), first);                       // stale
  unlink(home_->PidPath().c_str());
  WriteFile(home_->PidPath(), "1\n");  // some other process's id
  ASSERT_EQ(
      RunProgram({KilndPath(), "--home=" + home_->dir(), "--worker=" + worker_, "--daemonize"}), 0);
  TestClient client = Client();
  const uint32_t pid = client.Stats()->pid();
  EXPECT_NE(pid, static_cast<uint32_t>(first));
  for (int i = 0; i < 500 && DaemonPid() == 1; ++i) absl::SleepFor(absl::Milliseconds(2));
  EXPECT_EQ(DaemonPid(), static_cast<pid_t>(pid));
}

TEST_F(LifeTest, ReplacesAFileInPlaceOfTheSocket) {
  WriteFile(SocketPath(), "not a socket");
  ASSERT_EQ(Start(), 0);
  EXPECT_TRUE(Client().Compile("x", 1).ok());
}

TEST_F(LifeTest, RefusesAddressesWithoutAPort) {
  for (const std::string flag : {"--listen", "--web"}) {
    for (const std::string address : {"127.0.0.1:99999", "127.0.0.1", ":4711", "127.0.0.1:http"}) {
      EXPECT_EQ(Start({flag + "=" + address}), 2) << flag << " " << address;
    }
  }
}

TEST_F(LifeTest, SigtermLetsRunningRequestsEnd) {
  ASSERT_EQ(Start(), 0);
  const pid_t pid = DaemonPid();
  absl::StatusOr<proto::CompileReply> reply = absl::UnknownError("");
  std::thread caller([&] { reply = Client().Compile("sleep 600", 1); });
  while (Jobs().empty()) absl::SleepFor(absl::Milliseconds(5));
  kill(pid, SIGTERM);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_FALSE(TestClient::Connect(SocketPath()).ok());  // no new client
  caller.join();
  EXPECT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(AwaitEnd(pid));
  EXPECT_FALSE(std::filesystem::exists(SocketPath()));
  EXPECT_FALSE(std::filesystem::exists(home_->PidPath()));
  EXPECT_NE(LogText().find("ended\n"), std::string::npos);
}

// A client then asks the next daemon.
TEST_F(LifeTest, ARequestThatOutlastsTheEndLosesItsConnection) {
  ASSERT_EQ(Start(), 0);
  const pid_t pid = DaemonPid();
  const TestClient client = Client();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  const proto::CompileRequest request = RequestFor("sleep 60000", 1);
  ASSERT_TRUE(WriteFrame(client.fd(), FrameType::kCompile, 1, request, deadline).ok());
  while (Jobs().empty()) absl::SleepFor(absl::Milliseconds(5));
  kill(pid, SIGTERM);
  EXPECT_EQ(ReadFrame(client.fd(), deadline).status().message(), "end of stream");
  EXPECT_TRUE(AwaitEnd(pid));
}

TEST_F(LifeTest, RequestsThatArrivedBeforeTheEndAreServed) {
  ASSERT_EQ(Start(), 0);
  const TestClient client = Client();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  const auto send = [&](uint32_t id, const std::string& name) {
    EXPECT_TRUE(
        WriteFrame(client.fd(), FrameType::kCompile, id, RequestFor(name, id), deadline).ok());
  };
  send(1, "sleep 300");
  while (Jobs().empty()) absl::SleepFor(absl::Milliseconds(5));
  // The daemon reads the next request only after this one, when it drains.
  // It lasts long enough that the daemon looks whether the client has gone.
  send(2, "sleep 200");
  kill(DaemonPid(), SIGTERM);
  while (std::filesystem::exists(SocketPath())) absl::SleepFor(absl::Milliseconds(1));
  for (const uint32_t id : {1, 2}) {
    const absl::StatusOr<Frame> frame = ReadFrame(client.fd(), deadline);
    ASSERT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->id, id);
    EXPECT_EQ(frame->type, FrameType::kCompileReply);
  }
  EXPECT_EQ(ReadFrame(client.fd(), deadline).status().message(), "end of stream");
}

TEST_F(LifeTest, AShutdownFrameStopsItAndANewDaemonWaitsForTheOld) {
  ASSERT_EQ(Start(), 0);
  const pid_t pid = DaemonPid();
  std::thread caller([&] { Client().Compile("sleep 400", 1).status().IgnoreError(); });
  while (Jobs().empty()) absl::SleepFor(absl::Milliseconds(5));
  // Works without a greeting, so that every version can stop every other.
  absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath(), /*greet=*/false);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(
      client->Call<proto::ShutdownReply>(FrameType::kShutdown, proto::ShutdownRequest()).ok());
  while (std::filesystem::exists(SocketPath())) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_EQ(Start(), 0);
  EXPECT_NE(Client().Stats()->pid(), static_cast<uint32_t>(pid));
  caller.join();
}

TEST_F(LifeTest, EndsWhenIdle) {
  ASSERT_EQ(Start({"--idle-exit=0.3"}), 0);
  const pid_t pid = DaemonPid();
  TestClient idle = Client();  // an idle connection does not keep the daemon running
  EXPECT_TRUE(AwaitEnd(pid));
  EXPECT_NE(LogText().find("ending: idle"), std::string::npos);
}

TEST_F(LifeTest, WorkKeepsItFromBeingIdle) {
  ASSERT_EQ(Start({"--idle-exit=0.2"}), 0);
  EXPECT_TRUE(Client().Compile("sleep 700", 1).ok());
}

// A request as the client library makes it: a lost connection is re-established once.
bool CompilesPatiently(const std::string& socket_path, const std::string& name, uint64_t seed) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    absl::StatusOr<TestClient> client = TestClient::Connect(socket_path);
    if (client.ok() && client->Compile(name, seed).ok()) return true;
  }
  return false;
}

TEST_F(LifeTest, ASuccessorTakesOverWithoutALostCall) {
  ASSERT_EQ(Start(), 0);
  ASSERT_TRUE(Client().Compile("x", 1).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::atomic<int> bad{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      while (!stop) (CompilesPatiently(SocketPath(), "x", 1) ? good : bad)++;
    });
  }
  TestClient patient = Client();
  std::thread long_call([&] { EXPECT_TRUE(patient.Compile("sleep 2000", 9).ok()); });
  absl::SleepFor(absl::Milliseconds(200));
  const pid_t first = DaemonPid();
  const absl::Time start = absl::Now();
  ASSERT_EQ(Start({"--take-over"}), 0);
  // The new daemon serves while the old one finishes.
  EXPECT_LT(absl::Now() - start, absl::Seconds(1.5));
  TestClient client = Client();
  const auto second = static_cast<pid_t>(client.Stats()->pid());
  EXPECT_NE(second, first);
  EXPECT_TRUE(client.Compile("x", 2).ok());
  EXPECT_EQ(kill(first, 0), 0) << "it had a call to finish";
  long_call.join();
  EXPECT_TRUE(AwaitEnd(first));
  EXPECT_EQ(DaemonPid(), second);
  EXPECT_TRUE(Client().Compile("x", 3).ok());  // the old one left the new one's socket alone
  stop = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(bad, 0);
  EXPECT_GT(good, 10);
  EXPECT_GE(Client().Stats()->compiles(), 3u);  // the counters were handed on
}

TEST_F(LifeTest, TakingOverWithoutAPredecessorStarts) {
  ASSERT_EQ(Start({"--take-over"}), 0);
  EXPECT_TRUE(Client().Compile("x", 1).ok());
  // The new daemon checks its settings before it asks the old one to hand over.
  const pid_t first = DaemonPid();
  WriteFile(home_->dir() + "/kilnd.conf", "trust { key_file: \"none\" }");
  EXPECT_EQ(RunProgram({KilndPath(), "--home=" + home_->dir(), "--daemonize", "--take-over"}), 2);
  EXPECT_EQ(static_cast<pid_t>(Client().Stats()->pid()), first);
}

TEST_F(LifeTest, ServesTheNewestCommonProtocol) {
  ASSERT_EQ(Start(), 0);
  absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath(), /*greet=*/false);
  auto greet = [&](uint32_t newest, uint32_t oldest) {
    proto::Hello hello;
    hello.set_protocol(newest);
    hello.set_oldest_protocol(oldest);
    hello.set_build("9.9");
    return client->Call<proto::HelloReply>(FrameType::kHello, hello);
  };
  // The next version, which still speaks ours.
  absl::StatusOr<proto::HelloReply> reply = greet(kProtocolVersion + 1, kProtocolVersion);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->protocol(), kProtocolVersion);
  EXPECT_TRUE(client->Compile("x", 1).ok());
  // A client older than this version, and a client that no longer supports it.
  EXPECT_EQ(greet(kOldestProtocolVersion, 1)->protocol(), kOldestProtocolVersion);
  EXPECT_FALSE(greet(kOldestProtocolVersion - 1, kOldestProtocolVersion - 1).ok());
  EXPECT_FALSE(greet(kProtocolVersion + 2, kProtocolVersion + 1).ok());
  // Another build with the same protocol is served.
  EXPECT_TRUE(client->Hello(kProtocolVersion, "0.0.1").ok());
}

TEST_F(LifeTest, RefusesOtherVersionsByName) {
  ASSERT_EQ(Start(), 0);
  absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath(), /*greet=*/false);
  const absl::Status newer = client->Hello(kProtocolVersion + 1, "9.9");
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(newer.message().find(absl::StrCat("Kiln 9.9 (protocol ", kProtocolVersion + 1, ")")),
            absl::string_view::npos)
      << newer;
  EXPECT_NE(newer.message().find(absl::StrCat("kilnd ", kVersion)), absl::string_view::npos);
  // The first version, which had no ranges.
  const absl::Status older = client->Hello(1, "0.0.1");
  EXPECT_NE(older.message().find("Kiln 0.0.1 (protocol 1)"), absl::string_view::npos) << older;
  EXPECT_TRUE(absl::IsFailedPrecondition(client->Compile("x", 1).status()));
  EXPECT_TRUE(client->Stats().ok());
  EXPECT_TRUE(client->Hello().ok());  // the same connection, now right
  EXPECT_TRUE(client->Compile("x", 1).ok());
}

TEST_F(LifeTest, MakesWayForANewBuildOfItself) {
  const std::string kilnd = TempPath("kilnd");
  ASSERT_EQ(RunProgram({"/bin/cp", KilndPath(), kilnd}), 0);
  ASSERT_EQ(RunProgram({kilnd, "--home=" + home_->dir(), "--worker=" + worker_, "--daemonize"}), 0);
  EXPECT_TRUE(TestClient::Connect(SocketPath()).ok());
  const pid_t pid =
      static_cast<pid_t>(TestClient::Connect(SocketPath(), /*greet=*/false)->Stats()->pid());
  ASSERT_EQ(RunProgram({"/bin/cp", KilndPath(), kilnd + ".new"}), 0);
  std::filesystem::rename(kilnd + ".new", kilnd);
  EXPECT_TRUE(absl::IsUnavailable(TestClient::Connect(SocketPath()).status()));
  EXPECT_TRUE(AwaitEnd(pid));
}

TEST_F(LifeTest, AFullCacheDoesNotDelayTheStart) {
  ASSERT_TRUE(home_->Create().ok());
  for (int i = 0; i < 20000; ++i) {
    const std::string path = home_->EntryPath(Place(Sha256Of(absl::StrCat(i))));
    mkdir(path.substr(0, path.rfind('/')).c_str(), 0700);
    WriteFile(path, "");
  }
  absl::Duration fastest = absl::InfiniteDuration();
  for (int round = 0; round < 5; ++round) {
    if (round > 0) Stop();
    const absl::Time start = absl::Now();
    ASSERT_EQ(
        RunProgram({KilndPath(), "--home=" + home_->dir(), "--worker=" + worker_, "--daemonize"}),
        0);
    EXPECT_TRUE(TestClient::Connect(SocketPath(), /*greet=*/false).ok());
    fastest = std::min(fastest, absl::Now() - start);
    EXPECT_EQ(Client().Stats()->entries(), 20000u);
  }
  EXPECT_LT(fastest, absl::Milliseconds(kSanitized ? 2000 : 100));
}

TEST_F(LifeTest, ServesNoOtherMachinesAsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  ASSERT_TRUE(home_->Create().ok());
  const std::vector<std::string> open = {"--web=0.0.0.0:1", "--bin=" + dir_};
  for (const char* front : {"/kilnd-web", "/kilnd-grpc"}) {
    std::filesystem::create_symlink("/bin/false", dir_ + front);
  }
  EXPECT_EQ(Start(open), 2);
  WriteFile(home_->dir() + "/kilnd.conf", "service { listen: \"0.0.0.0:1\" insecure: true }");
  EXPECT_EQ(Start({open[1]}), 2);
  // Root may check a configuration.
  EXPECT_EQ(RunProgram({KilndPath(), "--home=" + home_->dir(), open[1], "--check"}), 0);
  EXPECT_EQ(Start({open[1], "--allow-root"}), 0);
  EXPECT_TRUE(Client().Stats().ok());  // it has begun by now
  EXPECT_NE(LogText().find("runs as root"), std::string::npos);
}

TEST_F(LifeTest, BadFlagsAreNamed) {
  EXPECT_EQ(RunProgram({KilndPath(), "--frobnicate"}), 2);
  EXPECT_EQ(RunProgram({KilndPath(), "--workers=0"}), 2);
  EXPECT_EQ(RunProgram({KilndPath(), "--idle-exit=soon"}), 2);
  EXPECT_EQ(RunProgram({KilndPath(), "--listen=0.0.0.0:4711"}), 2);  // no TLS: loopback only
  EXPECT_EQ(RunProgram({KilndPath(), "--bin=/nowhere", "--listen=127.0.0.1:4711"}), 2);
}

}  // namespace
}  // namespace kiln
