// Overload: queues, priorities, quotas, deadlines, refusals; and malicious clients and kernels.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/base/plain_text.h"
#include "common/wire/error_detail.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

class FlowTest : public DaemonTest {
 protected:
  int StartWith(const std::string& config, std::vector<std::string> flags = {}) {
    WriteFile(TempPath("kilnd.conf"), config);
    flags.push_back("--config=" + TempPath("kilnd.conf"));
    return Start(flags);
  }
  // Sends a request on a new connection; the caller reads the reply later.
  TestClient Ask(const std::string& name, uint64_t seed,
                 proto::Priority priority = proto::PRIORITY_INTERACTIVE, uint32_t deadline_ms = 0) {
    TestClient client = Client();
    proto::CompileRequest request = RequestFor(name, seed);
    request.set_priority(priority);
    request.set_deadline_ms(deadline_ms);
    EXPECT_TRUE(WriteFrame(client.fd(), FrameType::kCompile, 1, request).ok());
    return client;
  }
  static absl::Status Answer(TestClient& client) {
    absl::StatusOr<Frame> frame = ReadFrame(client.fd(), absl::Now() + absl::Seconds(60));
    if (!frame.ok()) return frame.status();
    proto::CompileReply reply;
    return ParseReply(*frame, FrameType::kCompileReply, &reply);
  }
  void AwaitJobs(size_t count) {
    for (int i = 0; i < 2000 && Jobs().size() < count; ++i) absl::SleepFor(absl::Milliseconds(5));
    ASSERT_GE(Jobs().size(), count);
  }
  void AwaitWaiting(size_t count) {
    TestClient client = Client();
    for (int i = 0; i < 2000 && client.Stats()->waiting() != count; ++i) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    ASSERT_EQ(client.Stats()->waiting(), count);
  }
};

TEST_F(FlowTest, InteractiveRequestsPrecedeWarmOnes) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  std::vector<TestClient> clients;
  clients.push_back(Ask("sleep 500", 0));
  AwaitJobs(1);
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Ask(absl::StrCat("warm", i), 10 + i, proto::PRIORITY_WARM));
    AwaitWaiting(1 + i);
  }
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Ask(absl::StrCat("user", i), 20 + i));
    AwaitWaiting(5 + i);
  }
  for (TestClient& client : clients) EXPECT_TRUE(Answer(client).ok());
  EXPECT_EQ(Jobs(), (std::vector<std::string>{"sleep 500", "user0", "user1", "user2", "user3",
                                              "warm0", "warm1", "warm2", "warm3"}));
}

TEST_F(FlowTest, JoiningAWarmRequestRaisesItsPriority) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  std::vector<TestClient> clients;
  clients.push_back(Ask("sleep 500", 0));
  AwaitJobs(1);
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Ask(absl::StrCat("warm", i), 10 + i, proto::PRIORITY_WARM));
    AwaitWaiting(1 + i);
  }
  clients.push_back(Ask("user", 20));
  AwaitWaiting(5);
  clients.push_back(Ask("warm2", 12));  // a client requests a kernel that is being warmed up
  absl::SleepFor(absl::Milliseconds(100));
  for (TestClient& client : clients) EXPECT_TRUE(Answer(client).ok());
  EXPECT_EQ(Jobs(),
            (std::vector<std::string>{"sleep 500", "user", "warm2", "warm0", "warm1", "warm3"}));
}

TEST_F(FlowTest, TimeInTheQueueCountsAndFreesItsPlace) {
  ASSERT_EQ(Start({"--workers=1", "--max-queue=1"}), 0);
  TestClient running = Ask("sleep 800", 1);
  AwaitJobs(1);
  const absl::Time start = absl::Now();
  TestClient waiting = Ask("late", 2, proto::PRIORITY_INTERACTIVE, /*deadline_ms=*/200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Answer(waiting)));
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(700));
  AwaitWaiting(0);
  {
    TestClient leaves = Ask("left", 3);
    AwaitWaiting(1);
  }
  AwaitWaiting(0);
  TestClient next = Ask("next", 4);
  EXPECT_TRUE(Answer(running).ok());
  EXPECT_TRUE(Answer(next).ok());
  EXPECT_EQ(Jobs(), (std::vector<std::string>{"sleep 800", "next"}));
}

TEST_F(FlowTest, AKeyThatKillsWorkersIsRefusedByName) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  EXPECT_EQ(PartOf(client.Compile("die", 1).status()), "kernel");
  EXPECT_EQ(Jobs().size(), 2u);
  for (int i = 0; i < 3; ++i) {
    const absl::Status refused = client.Compile("die", 1).status();
    EXPECT_TRUE(absl::IsInternal(refused));
    EXPECT_EQ(PartOf(refused), "kernel");
    EXPECT_GT(RetryAfterOf(refused), absl::Minutes(9));
    EXPECT_TRUE(absl::StrContains(refused.message(), "compiling die is refused")) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "signal 9")) << refused;
  }
  EXPECT_EQ(Jobs().size(), 2u);
  EXPECT_EQ(client.Stats()->worker_deaths(), 2u);
  EXPECT_TRUE(client.Compile("x", 2).ok());
}

TEST_F(FlowTest, ConcurrentRequestsPerCallerAreBounded) {
  ASSERT_EQ(StartWith("limits { running: 2 }"), 0);
  TestClient one = Ask("sleep 400", 1), two = Ask("sleep 400", 2);
  AwaitJobs(2);
  TestClient third = Client();
  const absl::Status refused = third.Compile("x", 3).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(PartOf(refused), "quota");
  EXPECT_GT(RetryAfterOf(refused), absl::ZeroDuration());
  EXPECT_TRUE(Answer(one).ok());
  EXPECT_TRUE(Answer(two).ok());
  EXPECT_TRUE(third.Compile("x", 3).ok()) << "the connection stays usable";
}

TEST_F(FlowTest, CompilationsPerMinuteAreBoundedButHitsAreNot) {
  ASSERT_EQ(StartWith("limits { compiles_per_minute: 3 }"), 0);
  TestClient client = Client();
  for (int seed = 0; seed < 3; ++seed) ASSERT_TRUE(client.Compile("x", seed).ok());
  const absl::Status refused = client.Compile("x", 3).status();
  EXPECT_EQ(PartOf(refused), "quota") << refused;
  EXPECT_GT(RetryAfterOf(refused), absl::Seconds(10));
  EXPECT_EQ(client.Compile("x", 1)->tier(), "memory");
}

TEST_F(FlowTest, BytesInFlightWaitTheirTurn) {
  ASSERT_EQ(StartWith("limits { bytes_in_flight: 1000000 }"), 0);
  proto::CompileRequest large = RequestFor("x", 1);
  large.mutable_source_map()->set_kernel(std::string(800000, 'k'));
  const std::string body = large.SerializeAsString();
  char header[kFrameHeaderSize];
  EncodeFrameHeader({FrameType::kCompile, static_cast<uint32_t>(body.size()), 1}, header);
  TestClient slow = Client();
  ASSERT_EQ(send(slow.fd(), header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  absl::SleepFor(absl::Milliseconds(100));
  TestClient next = Client();
  std::atomic<bool> sent{false};
  std::thread sender([&] {
    EXPECT_TRUE(WriteFrame(next.fd(), FrameType::kCompile, 1, body).ok());
    sent = true;
  });
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_FALSE(sent) << "more than both the sockets' buffers was taken";
  shutdown(slow.fd(), SHUT_RDWR);  // the client disconnects
  sender.join();
  EXPECT_TRUE(Answer(next).ok());
}

TEST_F(FlowTest, OverloadAnswersEveryRequestInBoundedMemory) {
  constexpr int kQueue = 16, kClients = 10 * kQueue;
  ASSERT_EQ(StartWith("limits { running: 1000 }", {absl::StrCat("--max-queue=", kQueue)}), 0);
  const proto::CompileReply hot = *Client().Compile("big 16000", 1 << 20);
  std::atomic<int> served{0}, refused{0}, other{0};
  std::atomic<bool> over{false};
  const auto wave = [&](uint64_t first) {
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] {
        TestClient client = Client();
        const absl::Status status = client.Compile("sleep 2", first + i).status();
        const bool hint = RetryAfterOf(status) > absl::ZeroDuration();
        ++(status.ok() ? served : absl::IsResourceExhausted(status) && hint ? refused : other);
      });
    }
    for (std::thread& client : clients) client.join();
  };
  wave(0);  // allocates the threads' stacks and buffers
  const int before = ResidentKilobytes(DaemonPid());
  std::vector<absl::Duration> hits;
  std::thread looker([&] {
    TestClient client = Client();
    while (!over) {
      const absl::Time start = absl::Now();
      EXPECT_TRUE(client.Lookup(hot.digest())->found());
      hits.push_back(absl::Now() - start);
      absl::SleepFor(absl::Milliseconds(1));
    }
  });
  for (uint64_t round = 1; round <= 5; ++round) wave(round * kClients);
  over = true;
  looker.join();
  EXPECT_EQ(served + refused + other, 6 * kClients);
  EXPECT_EQ(other, 0);
  EXPECT_GT(refused, 0);
  EXPECT_GT(served, 6 * kQueue);
  std::sort(hits.begin(), hits.end());
  const absl::Duration p99 = hits[hits.size() * 99 / 100];
  std::printf("%d served, %d refused; hits p99 %s; resident %d kB, then %d kB\n", served.load(),
              refused.load(), absl::FormatDuration(p99).c_str(), before,
              ResidentKilobytes(DaemonPid()));
  if (kSanitized) return;
  EXPECT_LT(ResidentKilobytes(DaemonPid()), before + before / 10 + 2048);
  EXPECT_LT(p99, absl::Milliseconds(100));
}

TEST_F(FlowTest, DisconnectsStalledClientsWithoutDelayingOthers) {
  ASSERT_EQ(Start({"--max-connections=64"}), 0);
  std::vector<TestClient> slow;
  for (int i = 0; i < 32; ++i) {
    slow.push_back(Client());
    ASSERT_EQ(send(slow.back().fd(), "KLN", 3, 0), 3);
  }
  const absl::Time start = absl::Now();
  TestClient client = Client();
  for (int seed = 0; seed < 20; ++seed) EXPECT_TRUE(client.Compile("x", seed).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(3));
  for (TestClient& each : slow) {
    const absl::Status told = Answer(each);
    EXPECT_TRUE(absl::StrContains(told.message(), "begun but not completed")) << told;
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(15));
}

TEST_F(FlowTest, AnnouncedBytesAreNotAllocated) {
  ASSERT_EQ(Start(), 0);
  const int before = ResidentKilobytes(DaemonPid());
  std::vector<TestClient> liars;
  for (int i = 0; i < 100; ++i) {
    liars.push_back(Client());
    char header[kFrameHeaderSize];
    EncodeFrameHeader({FrameType::kCompile, kMaxFrameBytes, 1}, header);
    ASSERT_EQ(send(liars.back().fd(), header, sizeof header, 0), 16);
  }
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_LT(ResidentKilobytes(DaemonPid()), before + (kSanitized ? 1 << 20 : 16 << 10));
}

TEST_F(FlowTest, AWorkerCanDoNothingButCompile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's worker is not confined";
  ASSERT_EQ(Start({"--workers=1"}), 0);
  const std::string victim = TempPath("victim");
  WriteFile(victim, "untouched");
  std::filesystem::permissions(victim, std::filesystem::perms::all);
  TestClient client = Client();
  uint64_t seed = 0;
  const std::vector<std::string> deeds = {"write " + victim,
                                          "create " + TempPath("new"),
                                          "read " + victim,
                                          "unlink " + victim,
                                          "socket",
                                          "exec",
                                          "fork",
                                          "pages",
                                          "signal",
                                          "owner",
                                          "thread",
                                          "map",
                                          "share",
                                          "pipe",
                                          "truncate",
                                          "trace"};
  for (const std::string& deed : deeds) {
    const absl::StatusOr<proto::CompileReply> reply = client.Compile("try " + deed, ++seed);
    ASSERT_TRUE(reply.ok()) << reply.status();
    const std::string end(DecodeEntry(reply->entry())->payload);
    EXPECT_TRUE(end == "Operation not permitted" || end == "Permission denied")
        << deed << ": " << end;
  }
  EXPECT_EQ(ReadFile(victim), "untouched");
  EXPECT_FALSE(std::filesystem::exists(TempPath("new")));
  EXPECT_EQ(Jobs().size(), deeds.size()) << "the same worker did them all";
}

TEST_F(FlowTest, TheMessageQuotesAWorkersLastLineSafely) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  const absl::StatusOr<proto::CompileReply> reply = Client().Compile("abort LLVM\x1b[31m", 1);
  EXPECT_TRUE(absl::StrContains(reply.status().message(), "it said: LLVM\\x1b[31m"))
      << reply.status();
  EXPECT_FALSE(absl::StrContains(LogText(), "\x1b"));
}

TEST_F(FlowTest, KernelNamesCannotForgeLogLines) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  TestClient client = Client();
  const std::string forged = "2026-01-01 00:00:00.000 kilnd[1] user root logged in";
  EXPECT_FALSE(client
                   .Compile("die \n" + forged +
                                "\x1b[31m\xc2\x9b"
                                "1m",
                            1)
                   .ok());
  const std::string log = LogText();
  EXPECT_TRUE(absl::StrContains(log, "\\n" + forged + "\\x1b[31m\\xc2\\x9b")) << log;
  EXPECT_FALSE(absl::StrContains(log, "\n" + forged));
}

TEST_F(FlowTest, LongKernelNamesAreCut) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  const auto reply = Client().Compile("die " + std::string(10'000'000, 'x'), 1);
  EXPECT_FALSE(reply.ok());
  EXPECT_LT(reply.status().message().size(), 1000u);
  EXPECT_LT(LogText().size(), 10'000u);
}

TEST_F(FlowTest, NamesThatAreNoUtf8LeaveAJsonLogJson) {
  ASSERT_EQ(StartWith("log { json: true }", {"--workers=1"}), 0);
  EXPECT_FALSE(Client().Compile("die \xff\xfe", 1).ok());
  EXPECT_FALSE(Client().Compile("abort \xff\xfe", 2).ok());
  EXPECT_FALSE(Client().Compile("die ok", 3).ok());
  for (const absl::string_view line : absl::StrSplit(LogText(), '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(line, "{\"time\":\"") && absl::EndsWith(line, "}")) << line;
    EXPECT_EQ(OneLine(line, line.size()), line);
  }
}

TEST_F(FlowTest, WarnsOfUnconfinedWorkers) {
  ASSERT_EQ(StartWith("workers { unconfined: true }", {"--workers=1"}), 0);
  const absl::StatusOr<proto::CompileReply> reply = Client().Compile("try socket", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(DecodeEntry(reply->entry())->payload, "allowed");
  EXPECT_TRUE(absl::StrContains(LogText(), "nothing is given up (workers.unconfined)"))
      << LogText();
  const auto metrics =
      Client().Call<proto::MetricsReply>(FrameType::kMetrics, proto::MetricsRequest());
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_TRUE(absl::StrContains(metrics->ShortDebugString(), "value: \"unconfined\""));
}

// Mixes callers, sizes, outcomes and crashes for a while: no request may be lost, nothing may grow.
TEST_F(FlowTest, MixedStorm) {
  // A small memory tier, which fills soon: one that fills later would look like growth.
  WriteFile(TempPath("kilnd.conf"), "memory { max_bytes: 1048576 }");
  ASSERT_EQ(Start({"--max-queue=32", "--worker-jobs=50", "--config=" + TempPath("kilnd.conf")}), 0);
  std::atomic<int> calls{0}, wrong{0};
  const auto storm = [&](absl::Duration length) {
    std::vector<std::thread> clients;
    const absl::Time end = absl::Now() + length;
    for (int i = 0; i < 16; ++i) {
      clients.emplace_back([&, i] {
        for (uint64_t n = 0; absl::Now() < end; ++n) {
          TestClient client = Client();
          const std::string name = n % 61 == 60 ? "die-once " + std::to_string(i * 1000 + n)
                                   : n % 7 == 6 ? "error"
                                   : n % 5 == 4 ? "big 100000"
                                                : "sleep 1";
          const absl::Status status = client.Compile(name, (n * 16 + i) % 500).status();
          ++calls;
          if (!status.ok() && !absl::IsResourceExhausted(status)) {
            ++wrong;
            std::fprintf(stderr, "%s: %s\n", name.c_str(), status.ToString().c_str());
          }
        }
      });
    }
    for (std::thread& client : clients) client.join();
  };
  storm(absl::Seconds(1));
  const int before = ResidentKilobytes(DaemonPid());
  storm(absl::Seconds(3));
  std::printf("%d calls; resident %d kB, then %d kB\n", calls.load(), before,
              ResidentKilobytes(DaemonPid()));
  EXPECT_EQ(wrong, 0);
  if (!kSanitized) {
    EXPECT_LT(ResidentKilobytes(DaemonPid()), before + before / 5 + 4096);
  }
}

}  // namespace
}  // namespace kiln
