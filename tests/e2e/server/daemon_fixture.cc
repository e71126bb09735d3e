#include "tests/e2e/server/daemon_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "common/unit/canonical.h"

namespace kiln {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string Runfile(const std::string& path) {
  const char* directory = getenv("TEST_SRCDIR");
  const std::string base = directory != nullptr ? absl::StrCat(directory, "/kiln")
                                                : std::filesystem::current_path().string();
  return absl::StrCat(base, "/", path);
}

}  // namespace

std::string KilndPath() { return Runfile("server/daemon/kilnd"); }
std::string TestWorkerPath() { return Runfile("server/worker/testing/fault-worker"); }

absl::StatusOr<TestClient> TestClient::Connect(const std::string& socket_path, bool greet) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  TestClient client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(client.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return absl::UnavailableError(strerror(errno));
  }
  if (greet) {
    absl::Status status = client.Hello();
    if (!status.ok()) return status;
  }
  return client;
}

TestClient::~TestClient() {
  if (fd_ >= 0) close(fd_);
}

absl::Status TestClient::Hello(uint32_t protocol, const std::string& build) {
  proto::Hello hello;
  hello.set_protocol(protocol);
  hello.set_build(build);
  proto::HelloReply reply;
  return CallInto(FrameType::kHello, hello, &reply);
}

absl::StatusOr<proto::CompileReply> TestClient::Compile(const std::string& name, uint64_t seed,
                                                        uint32_t deadline_ms) {
  proto::CompileRequest request = RequestFor(name, seed);
  request.set_deadline_ms(deadline_ms);
  return Call<proto::CompileReply>(FrameType::kCompile, request);
}

absl::StatusOr<proto::LookupReply::Result> TestClient::Lookup(const std::string& digest) {
  proto::LookupRequest request;
  request.add_digests(digest);
  absl::StatusOr<proto::LookupReply> reply = Call<proto::LookupReply>(FrameType::kLookup, request);
  if (!reply.ok()) return reply.status();
  return reply->results(0);
}

absl::StatusOr<proto::StatsReply> TestClient::Stats() {
  return Call<proto::StatsReply>(FrameType::kStats, proto::StatsRequest());
}

absl::StatusOr<Frame> TestClient::Raw(const std::string& bytes) {
  if (send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("send");
  }
  return ReadFrame(fd_, absl::Now() + kPatience);
}

absl::Status TestClient::CallInto(FrameType type, const google::protobuf::MessageLite& request,
                                  google::protobuf::MessageLite* reply) {
  absl::Status status = WriteFrame(fd_, type, 7, request, absl::Now() + kPatience);
  // A refused client can read the reply even if it could not send its request.
  absl::StatusOr<Frame> frame = ReadFrame(fd_, absl::Now() + kPatience);
  if (!frame.ok()) return status.ok() ? frame.status() : status;
  return ParseReply(*frame, static_cast<FrameType>(static_cast<uint32_t>(type) + 1), reply);
}

proto::CompileRequest RequestFor(const std::string& name, uint64_t seed) {
  proto::CompileUnit unit;
  unit.mutable_target()->set_cpu(proto::X86_64_V2);
  unit.mutable_target()->set_runtime_abi(seed);
  proto::CompileRequest request;
  request.set_unit(CanonicalBytes(unit));
  request.set_name(name);
  return request;
}

DaemonTest::DaemonTest() : worker_(TestWorkerPath()) {
  std::string pattern = absl::StrCat(testing::TempDir(), "/kilnd-XXXXXX");
  dir_ = mkdtemp(pattern.data());
  home_ = std::make_unique<Home>(*Home::Find(TempPath("home")));
  setenv("KILN_TEST_JOBS", TempPath("jobs").c_str(), 1);
}

DaemonTest::~DaemonTest() {
  if (DaemonPid() > 0) Stop(SIGKILL);
  if (HasFailure()) std::fprintf(stderr, "log:\n%s", LogText().c_str());
  unlink(SocketPath().c_str());
  // A process that was killed may still be finishing a system call.
  std::error_code error;
  for (int i = 0; i < 100; ++i) {
    std::filesystem::remove_all(dir_, error);
    if (!error) return;
    absl::SleepFor(absl::Milliseconds(10));
  }
  ADD_FAILURE() << "a process still writes to " << dir_ << ": " << error.message();
}

int DaemonTest::Start(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {KilndPath(), "--home=" + home_->dir(), "--worker=" + worker_,
                                      "--daemonize", "--workers=2"};
  command.insert(command.end(), flags.begin(), flags.end());
  const int status = RunProgram(command);
  // The socket accepts before the new process has written its id.
  for (int i = 0; status == 0 && DaemonPid() <= 0 && i < 1000; ++i) {
    absl::SleepFor(absl::Milliseconds(2));
  }
  return status;
}

void DaemonTest::Stop(int signal) {
  const pid_t pid = DaemonPid();
  ASSERT_GT(pid, 0);
  kill(pid, signal);
  EXPECT_TRUE(AwaitEnd(pid));
  if (signal == SIGKILL) unlink(home_->PidPath().c_str());
}

TestClient DaemonTest::Client() {
  absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath());
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

pid_t DaemonTest::DaemonPid() const {
  int pid = -1;
  return absl::SimpleAtoi(absl::StripSuffix(ReadFile(home_->PidPath()), "\n"), &pid) ? pid : -1;
}

bool DaemonTest::AwaitEnd(pid_t pid) {
  for (int i = 0; i < 2000; ++i) {
    // A zombie that its new parent has not waited for yet has also exited.
    const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
    if (stat.empty() || stat.find(") Z") != std::string::npos) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return false;
}

std::string DaemonTest::SocketPath() const { return home_->SocketPath().value_or(""); }

std::vector<std::string> DaemonTest::Jobs() const {
  return absl::StrSplit(ReadFile(TempPath("jobs")), '\n', absl::SkipEmpty());
}

std::string DaemonTest::EntryPath(const proto::CompileReply& reply) const {
  return home_->EntryPath(*Place::FromBytes(reply.digest()));
}

std::string DaemonTest::LogText() const { return ReadFile(home_->LogPath()); }

int ResidentKilobytes(pid_t pid) {
  const std::string status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  int kilobytes = 0;
  std::sscanf(status.c_str() + status.find("VmRSS:"), "VmRSS: %d", &kilobytes);
  return kilobytes;
}

int RunProgram(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
}

}  // namespace kiln
