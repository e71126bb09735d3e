// A kilnd with a test worker (server/worker/testing) and its own home, and clients that exchange
// frames with it.
#ifndef KILN_TESTS_E2E_SERVER_DAEMON_FIXTURE_H_
#define KILN_TESTS_E2E_SERVER_DAEMON_FIXTURE_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/home/home.h"
#include "common/wire/framing.h"
#include "common/wire/version.h"
#include "gtest/gtest.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

// Whether this is a sanitizer's build: there, workers are not confined (run_worker.cc), and tests
// must not measure memory and time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

std::string KilndPath();
std::string TestWorkerPath();

// One connection. Failures of a call are statuses, as a client sees them.
class TestClient {
 public:
  // Connects and, unless told not to, greets.
  static absl::StatusOr<TestClient> Connect(const std::string& socket_path, bool greet = true);
  TestClient(TestClient&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  TestClient& operator=(TestClient&&) = delete;
  ~TestClient();

  absl::Status Hello(uint32_t protocol = kProtocolVersion, const std::string& build = kVersion);
  template <typename Reply>
  absl::StatusOr<Reply> Call(FrameType type, const google::protobuf::MessageLite& request) {
    Reply reply;
    absl::Status status = CallInto(type, request, &reply);
    if (!status.ok()) return status;
    return reply;
  }
  // `name` tells the test worker what to do; `seed` determines the key.
  absl::StatusOr<proto::CompileReply> Compile(const std::string& name, uint64_t seed,
                                              uint32_t deadline_ms = 0);
  // Whether an entry is found, without compiling.
  absl::StatusOr<proto::LookupReply::Result> Lookup(const std::string& digest);
  absl::StatusOr<proto::StatsReply> Stats();
  // Sends raw bytes and reads the reply frame.
  absl::StatusOr<Frame> Raw(const std::string& bytes);
  int fd() const { return fd_; }

 private:
  explicit TestClient(int fd) : fd_(fd) {}
  absl::Status CallInto(FrameType type, const google::protobuf::MessageLite& request,
                        google::protobuf::MessageLite* reply);

  int fd_;
};

proto::CompileRequest RequestFor(const std::string& name, uint64_t seed);

class DaemonTest : public testing::Test {
 protected:
  DaemonTest();
  ~DaemonTest() override;

  // Starts kilnd --daemonize; returns its exit status.
  int Start(const std::vector<std::string>& flags = {});
  // Sends it `signal` and waits for its exit.
  void Stop(int signal = 15);
  TestClient Client();
  pid_t DaemonPid() const;
  // Waits until no process has this id; false after ten seconds.
  static bool AwaitEnd(pid_t pid);
  std::string SocketPath() const;
  // Names of the jobs that the workers began.
  std::vector<std::string> Jobs() const;
  std::string EntryPath(const proto::CompileReply& reply) const;
  std::string TempPath(const std::string& name) const { return dir_ + "/" + name; }
  std::string LogText() const;

  std::string worker_;
  std::string dir_;
  std::unique_ptr<Home> home_;
};

// The resident memory of a process.
int ResidentKilobytes(pid_t pid);
// Runs a program to its end; returns its exit status, -1 if a signal ended it.
int RunProgram(const std::vector<std::string>& command);
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

}  // namespace kiln

#endif  // KILN_TESTS_E2E_SERVER_DAEMON_FIXTURE_H_
