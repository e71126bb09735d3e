// Slow connections must not delay others, and idle connections must cost nothing.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/wire/error_detail.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

std::string FrameBytes(FrameType type, uint32_t id, const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  char header[kFrameHeaderSize];
  EncodeFrameHeader({type, static_cast<uint32_t>(body.size()), id}, header);
  return std::string(header, sizeof header) + body;
}

class WaitingTest : public DaemonTest {
 protected:
  void StartWith(const std::string& config = "") {
    WriteFile(TempPath("kilnd.conf"), config);
    ASSERT_EQ(Start({"--workers=2", "--config=" + TempPath("kilnd.conf")}), 0);
    small_ = Client().Compile("x", 1)->digest();
  }
  std::string LookupFrame(const std::string& digest, uint32_t id) {
    proto::LookupRequest request;
    request.add_digests(digest);
    return FrameBytes(FrameType::kLookup, id, request);
  }
  static void Send(const TestClient& client, const std::string& bytes) {
    ASSERT_EQ(send(client.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // A client that sends only these bytes.
  TestClient Saying(const std::string& bytes) {
    TestClient client = Client();
    Send(client, bytes);
    return client;
  }
  size_t Threads() const {
    const std::filesystem::directory_iterator tasks(absl::StrCat("/proc/", DaemonPid(), "/task"));
    return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
  }
  // The time of the slowest of many hits, on an old connection and on new ones.
  absl::Duration SlowestHit(TestClient& old) {
    absl::Duration slowest;
    for (int i = 0; i < 200; ++i) {
      const absl::Time start = absl::Now();
      EXPECT_TRUE(old.Lookup(small_)->found());
      if (i % 20 == 0) {
        EXPECT_EQ(Client().Compile("x", 1)->tier(), "memory");
      }
      slowest = std::max(slowest, absl::Now() - start);
    }
    return slowest;
  }

  std::string small_;  // an entry's digest
};

TEST_F(WaitingTest, IdleConnectionsCostNoThreads) {
  StartWith();
  std::vector<TestClient> clients;
  clients.push_back(Client());
  const size_t before = Threads();
  for (int i = 0; i < 200; ++i) clients.push_back(Client());
  EXPECT_LE(Threads(), before + 4);
  for (TestClient& client : clients) EXPECT_TRUE(client.Lookup(small_)->found());
  EXPECT_LE(Threads(), before + 4);
}

TEST_F(WaitingTest, SlowRequestsDelayNoOthers) {
  StartWith("limits { bytes_in_flight: 5000000 }");
  TestClient hits = Client();
  const std::string big = Client().Compile("big 2000000", 2)->digest();
  const std::string compile = FrameBytes(FrameType::kCompile, 1, RequestFor("sleep 2500", 3));
  proto::CompileRequest large = RequestFor("x", 4);
  large.mutable_source_map()->set_kernel(std::string(3000000, 'k'));
  const std::string upload = FrameBytes(FrameType::kCompile, 1, large);

  const struct {
    const char* what;
    std::string bytes;
  } cases[] = {
      {"a compilation", compile},
      {"half a header", upload.substr(0, 7)},
      {"half a message", compile.substr(0, compile.size() / 2)},
      {"half a large message", upload.substr(0, 100000)},
      {"a message beyond the quota", upload.substr(0, 100000)},
      {"a reply that the client does not read", LookupFrame(big, 1)},
      {"requests whose replies the client does not read",
       LookupFrame(big, 1) + LookupFrame(big, 2)},
  };
  std::vector<TestClient> slow;
  const absl::Time start = absl::Now();
  for (const auto& one : cases) {
    slow.push_back(Saying(one.bytes));
    EXPECT_LT(SlowestHit(hits), absl::Milliseconds(kSanitized ? 2000 : 400)) << one.what;
  }
  // Slow clients get their replies.
  absl::StatusOr<Frame> frame = ReadFrame(slow[0].fd(), absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->type, FrameType::kCompileReply);
  EXPECT_GT(absl::Now() - start, absl::Seconds(2)) << "nothing was to be waited for";
  for (const uint32_t id : {1, 2}) {
    frame = ReadFrame(slow.back().fd(), absl::Now() + absl::Seconds(30));
    ASSERT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->id, id);
    EXPECT_GT(frame->body.size(), 2000000u);
  }
  Send(slow[2], compile.substr(compile.size() / 2));
  frame = ReadFrame(slow[2].fd(), absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->type, FrameType::kCompileReply);
}

TEST_F(WaitingTest, AnswersPipelinedRequestsInOrder) {
  StartWith();
  std::string bytes;
  constexpr uint32_t kRequests = 2000;  // more than one read returns
  for (uint32_t id = 0; id < kRequests; ++id) {
    absl::StrAppend(&bytes, LookupFrame(small_, id));
  }
  TestClient client = Client();
  // Send everything except a piece of the last request, while reading replies.
  std::thread sender([&] {
    Send(client, bytes.substr(0, bytes.size() - 20));
    absl::SleepFor(absl::Milliseconds(100));
    Send(client, bytes.substr(bytes.size() - 20));
  });
  for (uint32_t id = 0; id < kRequests; ++id) {
    const absl::StatusOr<Frame> frame = ReadFrame(client.fd(), absl::Now() + absl::Seconds(30));
    ASSERT_TRUE(frame.ok()) << frame.status();
    ASSERT_EQ(frame->type, FrameType::kLookupReply);
    ASSERT_EQ(frame->id, id);
  }
  sender.join();
  EXPECT_TRUE(client.Lookup(small_)->found());
}

TEST_F(WaitingTest, ARequestMayArriveByteByByte) {
  StartWith();
  TestClient client = Client();
  for (const char byte : LookupFrame(small_, 9)) {
    Send(client, std::string(1, byte));
    absl::SleepFor(absl::Milliseconds(2));
  }
  const absl::StatusOr<Frame> frame = ReadFrame(client.fd(), absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->id, 9u);
  EXPECT_TRUE(client.Lookup(small_)->found());
}

TEST_F(WaitingTest, WithoutMoreThreadsItRefusesAndContinues) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime has to be loaded first";
  const std::string kilnd = KilndPath();
  const std::string top = kilnd.substr(0, kilnd.rfind("/server/daemon/"));
  const std::string none_left = TempPath("no-threads");
  setenv("LD_PRELOAD", (top + "/tests/e2e/server/libno_threads.so").c_str(), 1);
  setenv("KILN_TEST_NO_THREADS", none_left.c_str(), 1);
  StartWith();
  unsetenv("LD_PRELOAD");
  unsetenv("KILN_TEST_NO_THREADS");

  TestClient hits = Client();
  std::vector<TestClient> others;
  for (int i = 0; i < 16; ++i) others.push_back(Client());
  WriteFile(none_left, "");
  // All threads are busy with compilations, so the daemon refuses another client.
  absl::Status refused;
  for (uint64_t i = 0; refused.ok() && i < others.size(); ++i) {
    Send(others[i], FrameBytes(FrameType::kCompile, 1, RequestFor("sleep 1000", 10 + i)));
    const absl::StatusOr<Frame> frame =
        ReadFrame(others[i].fd(), absl::Now() + absl::Milliseconds(200));
    proto::CompileReply reply;
    if (frame.ok()) refused = ParseReply(*frame, FrameType::kCompileReply, &reply);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "no more threads")) << refused;
  EXPECT_GT(RetryAfterOf(refused), absl::ZeroDuration());
  EXPECT_TRUE(hits.Lookup(small_)->found());
  EXPECT_EQ(hits.Compile("x", 1)->tier(), "memory");
  unlink(none_left.c_str());
  EXPECT_EQ(hits.Compile("x", 30)->tier(), "compiled");
}

TEST_F(WaitingTest, AStoppedClientDelaysNoOthers) {
  StartWith();
  const std::string big = Client().Compile("big 2000000", 2)->digest();
  TestClient hits = Client();
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<TestClient> client = TestClient::Connect(SocketPath());
    while (client.ok() && client->Lookup(big).ok()) {
    }
    _exit(1);
  }
  absl::SleepFor(absl::Milliseconds(200));
  kill(child, SIGSTOP);
  EXPECT_LT(SlowestHit(hits), absl::Milliseconds(kSanitized ? 2000 : 400));
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(WaitingTest, ExitsWhateverItsClientsDo) {
  StartWith();
  const pid_t pid = DaemonPid();
  const std::string big = Client().Compile("big 2000000", 2)->digest();
  std::vector<TestClient> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(Client());  // idle
  const std::string compile = FrameBytes(FrameType::kCompile, 1, RequestFor("sleep 1000", 3));
  clients.push_back(Saying(compile.substr(0, 5)));
  clients.push_back(Saying(compile.substr(0, compile.size() - 1)));
  clients.push_back(Saying(LookupFrame(big, 1)));
  clients.push_back(Saying(compile));
  while (Jobs().size() < 3) absl::SleepFor(absl::Milliseconds(5));
  kill(pid, SIGTERM);
  const absl::StatusOr<Frame> frame =
      ReadFrame(clients.back().fd(), absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->type, FrameType::kCompileReply);
  EXPECT_TRUE(AwaitEnd(pid) || AwaitEnd(pid));
  EXPECT_TRUE(absl::StrContains(LogText(), "ended\n"));
}

}  // namespace
}  // namespace kiln
