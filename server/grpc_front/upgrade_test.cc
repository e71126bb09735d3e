// Replaces kilnd repeatedly under constant load: over gRPC, on old and on new connections, and over
// the local socket.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/grpc_front/grpc_fixture.h"

namespace kiln {
namespace {

class UpgradeTest : public GrpcFixture {
 protected:
  ~UpgradeTest() override { StopCallers(); }

  // Makes `threads` threads repeat `call`, which returns an error text.
  void Keep(int threads, const std::function<std::string()>& call) {
    for (int i = 0; i < threads; ++i) {
      callers_.emplace_back([this, call] {
        while (!stop_) {
          const std::string wrong = call();
          ++calls_;
          if (wrong.empty()) continue;
          absl::MutexLock lock(&mutex_);
          wrong_.push_back(wrong);
        }
      });
    }
  }
  // Waits for some calls, however busy the machine is.
  void AwaitCalls() {
    constexpr int kMore = 200;
    const int enough = calls_ + kMore;
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    while (calls_ < enough && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_GE(calls_, enough);
  }
  void StopCallers() {
    stop_ = true;
    for (std::thread& caller : callers_) caller.join();
    callers_.clear();
  }
  // A call with gRPC's default settings.
  std::string CallOnce(Stub* stub, const std::string& name, uint64_t seed) {
    proto::CompileReply reply;
    const grpc::Status status =
        Call(&Stub::Compile, stub, "", RequestFor(name, seed), &reply, 20000, /*wait=*/false);
    return status.ok() ? "" : absl::StrCat(status.error_code(), " ", status.error_message());
  }
  // A call like the client library's: it reconnects once after a lost connection.
  std::string CallLocally(const std::string& name, uint64_t seed) {
    absl::Status status;
    for (int attempt = 0; attempt < 2; ++attempt) {
      absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath());
      status = client.ok() ? client->Compile(name, seed).status() : client.status();
      if (status.ok()) return "";
    }
    return std::string(status.message());
  }
  void KeepAllKinds() {
    for (int i = 0; i < 3; ++i) {
      std::shared_ptr<Stub> stub = Connect();
      Keep(1, [this, stub] { return CallOnce(stub.get(), "x", 1); });
      Keep(1, [this, stub] { return CallOnce(stub.get(), "sleep 30", ++seed_); });
    }
    Keep(2, [this] { return CallOnce(Connect().get(), "x", 1); });
    Keep(2, [this] { return CallLocally("x", 1); });
  }
  // All processes of the front.
  std::set<pid_t> Fronts() const {
    std::set<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (ReadFile(entry.path().string() + "/cmdline").find("--socket=" + SocketPath()) !=
          std::string::npos) {
        found.insert(std::stoi(entry.path().filename()));
      }
    }
    return found;
  }

  std::atomic<uint64_t> seed_{1000};
  std::atomic<int> calls_{0};
  absl::Mutex mutex_;
  std::vector<std::string> wrong_ ABSL_GUARDED_BY(mutex_);

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> callers_;
};

TEST_F(UpgradeTest, ASuccessorTakesOverWithoutALostCall) {
  Begin("connection_seconds: 1");
  const std::unique_ptr<Stub> stub = Connect();
  ASSERT_TRUE(Compile(stub.get(), "", "x", 1).ok());
  KeepAllKinds();
  for (int round = 0; round < 4; ++round) {
    AwaitCalls();
    std::thread long_call(
        [&] { EXPECT_EQ(CallOnce(Connect().get(), "sleep 1500", 77000 + round), ""); });
    absl::SleepFor(absl::Milliseconds(500));
    const pid_t old = DaemonPid();
    ASSERT_EQ(Start({BinFlag(), "--take-over"}), 0);
    EXPECT_TRUE(AwaitEnd(old));
    EXPECT_NE(DaemonPid(), old);
    long_call.join();
  }
  // The fronts of earlier daemons exit when their callers' connections end.
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (Fronts().size() > 1 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(Fronts().size(), 1u);
  StopCallers();
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(wrong_, std::vector<std::string>());
}

// Without a successor, callers that retry, as gRPC does, succeed.
TEST_F(UpgradeTest, ARestartCostsARetry) {
  Begin();
  const auto keep_trying = [this](Stub* stub, const std::string& name, uint64_t seed) {
    for (int attempt = 0;; ++attempt) {
      const grpc::Status status = Compile(stub, "", name, seed);  // waits for a connection
      const bool ends =
          status.error_code() == grpc::UNAVAILABLE || status.error_code() == grpc::CANCELLED;
      if (status.ok()) return std::string();
      if (!ends || attempt == 3) {
        return absl::StrCat(status.error_code(), " ", status.error_message());
      }
    }
  };
  for (int i = 0; i < 3; ++i) {
    std::shared_ptr<Stub> stub = Connect();
    Keep(1, [=] { return keep_trying(stub.get(), "x", 1); });
    Keep(1, [=] { return keep_trying(stub.get(), "sleep 30", ++seed_); });
    Keep(1, [=] { return keep_trying(Connect().get(), "x", 1); });
  }
  for (int round = 0; round < 4; ++round) {
    AwaitCalls();
    const absl::Time start = absl::Now();
    Stop(SIGTERM);
    EXPECT_LT(absl::Now() - start, absl::Seconds(10));
    ASSERT_EQ(Start({BinFlag()}), 0);
  }
  StopCallers();
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(wrong_, std::vector<std::string>());
}

// The front that stays for old connections asks the successor, which may have cleared entries that
// the front knows.
TEST_F(UpgradeTest, AnOldFrontKeepsNothing) {
  Begin();
  const std::unique_ptr<Stub> stub = Connect();
  proto::CompileReply made;
  ASSERT_TRUE(Compile(stub.get(), "", "x", 1, &made).ok());
  const auto finds = [&] {
    proto::LookupReply reply;
    const grpc::Status status = Lookup(stub.get(), "", made.digest(), &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply.results_size() == 1 && reply.results(0).found();
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(finds());
  const std::set<pid_t> old = Fronts();
  ASSERT_EQ(Start({BinFlag(), "--take-over"}), 0);
  EXPECT_TRUE(finds());
  ASSERT_TRUE(Client().Call<proto::ClearReply>(FrameType::kClear, proto::ClearRequest()).ok());
  EXPECT_FALSE(finds());
  EXPECT_EQ(Fronts().count(*old.begin()), 1u);
}

TEST_F(UpgradeTest, ADyingFrontRefusesNoCaller) {
  Begin();
  ASSERT_TRUE(Compile(Connect().get(), "", "x", 1).ok());
  for (int round = 0; round < 3; ++round) {
    const std::set<pid_t> fronts = Fronts();
    ASSERT_EQ(fronts.size(), 1u);
    kill(*fronts.begin(), SIGKILL);
    EXPECT_TRUE(AwaitEnd(*fronts.begin()));
    // kilnd owns the sockets, so new callers wait for the next front.
    EXPECT_EQ(CallOnce(Connect().get(), "x", 1), "");
  }
}

// kilnd under a service manager that listens for it, as systemd's socket units do.
class ActivatedTest : public UpgradeTest {
 protected:
  ActivatedTest() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    tcp_ = Listen(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  ~ActivatedTest() override {
    for (const int fd : {tcp_, local_}) close(fd);
  }
  static int Listen(int family, const sockaddr* address, socklen_t size) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    EXPECT_EQ(bind(fd, address, size), 0);
    EXPECT_EQ(listen(fd, 64), 0);
    return fd;
  }
  static int ListenLocally(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return Listen(AF_UNIX, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  // Starts it with the sockets as descriptors 3 and on.
  pid_t Activate(const std::vector<int>& sockets) {
    WriteFile(home_->dir() + "/kilnd.conf",
              absl::StrCat("service { listen: \"", Address(), "\" }"));
    const std::vector<std::string> words = {KilndPath(), "--home=" + home_->dir(),
                                            "--worker=" + worker_, BinFlag(), "--workers=2"};
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      // Duplicate first: a socket may have the target number of another one.
      std::vector<int> copies;
      for (const int fd : sockets) copies.push_back(fcntl(fd, F_DUPFD, 100));
      for (size_t i = 0; i < copies.size(); ++i) dup2(copies[i], 3 + static_cast<int>(i));
      for (const int fd : copies) close(fd);
      setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
      setenv("LISTEN_FDS", std::to_string(sockets.size()).c_str(), 1);
      execv(argv[0], argv.data());
      _exit(127);
    }
    return pid;
  }
  static int End(pid_t pid) {
    kill(pid, SIGTERM);
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  int tcp_ = -1;
  int local_ = -1;
};

TEST_F(ActivatedTest, CallersBetweenTwoDaemonsWaitForTheNext) {
  ASSERT_TRUE(home_->Create().ok());
  local_ = ListenLocally(SocketPath());
  for (int round = 0; round < 2; ++round) {
    std::string wrong_over_tcp = "not made", wrong_locally = "not made";
    std::thread over_tcp([&] { wrong_over_tcp = CallOnce(Connect().get(), "x", 1); });
    std::thread locally([&] { wrong_locally = CallLocally("x", 2); });
    absl::SleepFor(absl::Milliseconds(200));
    const pid_t pid = Activate({local_, tcp_});
    over_tcp.join();
    locally.join();
    EXPECT_EQ(wrong_over_tcp, "");
    EXPECT_EQ(wrong_locally, "");
    EXPECT_EQ(End(pid), 0);
    EXPECT_TRUE(std::filesystem::exists(SocketPath()));  // the manager's
  }
}

TEST_F(ActivatedTest, AnotherHomesSocketIsRefusedByName) {
  ASSERT_TRUE(home_->Create().ok());
  // Next to the first socket, because paths of sockets must be short.
  const std::string other = absl::StrCat(SocketPath(), ".other");
  local_ = ListenLocally(other);
  int status = -1;
  waitpid(Activate({local_}), &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  unlink(other.c_str());
}

}  // namespace
}  // namespace kiln
