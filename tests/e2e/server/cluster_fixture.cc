#include "tests/e2e/server/cluster_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace kiln {
namespace {

constexpr char kRedisProgram[] = "/usr/bin/redis-server";

int Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

bool Eventually(const std::function<bool()>& done) {
  for (int i = 0; i < 2000; ++i) {
    if (done()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return false;
}

std::string FreeAddress() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
}

RedisServer::RedisServer() {
  // A short path: 107 bytes is the limit.
  char pattern[] = "/tmp/kiln-redis-XXXXXX";
  directory_ = mkdtemp(pattern);
  socket_path_ = directory_ + "/redis.sock";
}

RedisServer::~RedisServer() {
  Kill();
  std::filesystem::remove_all(directory_);
}

bool RedisServer::Installed() { return access(kRedisProgram, X_OK) == 0; }

void RedisServer::Start(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {
      kRedisProgram, "--port",      "0", "--unixsocket", socket_path_, "--save", "", "--appendonly",
      "no",          "--databases", "4", "--dir",        directory_};
  command.insert(command.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  unlink(socket_path_.c_str());
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open("/dev/null", O_WRONLY), 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ASSERT_TRUE(Eventually([this] {
    const int fd = Connect(socket_path_);
    if (fd >= 0) close(fd);
    return fd >= 0;
  }));
}

void RedisServer::Signal(int signal) const { kill(pid_, signal); }

void RedisServer::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string RedisServer::Command(const std::vector<std::string>& words) const {
  std::string out = absl::StrCat("*", words.size(), "\r\n");
  for (const std::string& word : words)
    absl::StrAppend(&out, "$", word.size(), "\r\n", word, "\r\n");
  const int fd = Connect(socket_path_);
  if (fd < 0 || send(fd, out.data(), out.size(), MSG_NOSIGNAL) < 0) return "unreachable";
  // Only for short replies, which arrive in one piece.
  char reply[4096];
  const ssize_t got = recv(fd, reply, sizeof reply, 0);
  close(fd);
  return std::string(reply, std::max<ssize_t>(got, 0));
}

ClusterTest::ClusterTest() {
  std::string pattern = absl::StrCat(testing::TempDir(), "/cluster-XXXXXX");
  dir_ = mkdtemp(pattern.data());
  setenv("KILN_TEST_JOBS", TempPath("jobs").c_str(), 1);
  redis_ = std::make_unique<RedisServer>();
  // kilnd and the programs that it starts, in one directory as in an installation.
  const std::string kilnd = KilndPath();
  const std::string server = kilnd.substr(0, kilnd.rfind("/daemon/"));
  std::filesystem::create_directory(TempPath("bin"));
  std::filesystem::create_symlink(server + "/remote/kilnd-remote", TempPath("bin/kilnd-remote"));
  std::filesystem::create_symlink(server + "/grpc_front/kilnd-grpc", TempPath("bin/kilnd-grpc"));
}

ClusterTest::~ClusterTest() {
  for (size_t i = 0; i < homes_.size(); ++i) {
    const pid_t pid = Pid(static_cast<int>(i));
    if (pid > 0) kill(pid, SIGCONT);
    if (pid > 0) kill(pid, SIGKILL);
    if (HasFailure()) std::fprintf(stderr, "log of %zu:\n%s", i, LogText(i).c_str());
    unlink(homes_[i]->SocketPath().value_or("").c_str());
  }
  redis_.reset();
  // A process that was killed may still be finishing a system call.
  std::error_code error;
  for (int i = 0; i < 100; ++i) {
    std::filesystem::remove_all(dir_, error);
    if (!error) return;
    absl::SleepFor(absl::Milliseconds(10));
  }
  ADD_FAILURE() << "a process still writes to " << dir_ << ": " << error.message();
}

void ClusterTest::StartKilnds(int count, const std::string& config,
                              const std::vector<std::string>& flags) {
  WriteFile(TempPath("kilnd.conf"), config);
  for (int i = 0; i < count; ++i) {
    homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath(absl::StrCat("home", i)))));
    StartKilnd(i, flags);
  }
}

void ClusterTest::StartKilnd(int i, const std::vector<std::string>& flags) {
  const std::string kilnd = KilndPath();
  const std::string own = TempPath(absl::StrCat("kilnd", i, ".conf"));
  const std::string config = std::filesystem::exists(own) ? own : TempPath("kilnd.conf");
  std::vector<std::string> command = {kilnd,
                                      "--home=" + homes_[i]->dir(),
                                      "--config=" + config,
                                      "--worker=" + TestWorkerPath(),
                                      "--bin=" + TempPath("bin"),
                                      "--daemonize",
                                      "--workers=2"};
  command.insert(command.end(), flags.begin(), flags.end());
  ASSERT_EQ(RunProgram(command), 0);
  ASSERT_TRUE(Eventually([&] { return Pid(i) > 0; }));
}

int ClusterTest::AddKilnd(const std::string& config, const std::vector<std::string>& flags) {
  const int i = static_cast<int>(homes_.size());
  homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath(absl::StrCat("home", i)))));
  WriteFile(TempPath(absl::StrCat("kilnd", i, ".conf")), config);
  StartKilnd(i, flags);
  return i;
}

void ClusterTest::StopKilnd(int i, int signal) {
  const pid_t pid = Pid(i);
  ASSERT_GT(pid, 0);
  kill(pid, signal);
  EXPECT_TRUE(Eventually([&] {
    const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
    return stat.empty() || absl::StrContains(stat, ") Z");
  }));
  unlink(homes_[i]->PidPath().c_str());
}

TestClient ClusterTest::Client(int i) const {
  absl::StatusOr<TestClient> client = TestClient::Connect(homes_[i]->SocketPath().value_or(""));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

pid_t ClusterTest::Pid(int i) const {
  int pid = -1;
  return absl::SimpleAtoi(absl::StripSuffix(ReadFile(homes_[i]->PidPath()), "\n"), &pid) ? pid : -1;
}

std::vector<std::string> ClusterTest::Jobs() const {
  return absl::StrSplit(ReadFile(TempPath("jobs")), '\n', absl::SkipEmpty());
}

void ClusterTest::AwaitJobs(size_t count) const {
  ASSERT_TRUE(Eventually([&] { return Jobs().size() >= count; })) << Jobs().size() << " jobs";
}

std::string ClusterTest::RedisConfig(const std::string& redis_fields,
                                     const std::string& tier_fields) const {
  return absl::StrCat("tier { ", tier_fields, " redis { address: \"", redis_->socket_path(), "\" ",
                      redis_fields, " } }\ntrust { accept_unsigned: true }\n");
}

}  // namespace kiln
