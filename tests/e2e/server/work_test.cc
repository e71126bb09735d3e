// Compiling under stress: many clients, dying and hanging workers, full queues.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

class WorkTest : public DaemonTest {
 protected:
  void AwaitJobs(size_t count) {
    for (int i = 0; i < 2000 && Jobs().size() < count; ++i) absl::SleepFor(absl::Milliseconds(5));
    ASSERT_GE(Jobs().size(), count);
  }
};

TEST_F(WorkTest, CompilesOnceThenServesFromMemoryAndDisk) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  absl::StatusOr<proto::CompileReply> first = client.Compile("x", 1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->tier(), "compiled");
  const Key key = *Key::FromBytes(first->digest());
  EXPECT_TRUE(DecodeEntry(first->entry(), &key).ok());
  EXPECT_EQ(ReadFile(EntryPath(*first)), first->entry());

  absl::StatusOr<proto::CompileReply> second = client.Compile("x", 1);
  EXPECT_EQ(second->tier(), "memory");
  EXPECT_EQ(second->entry(), first->entry());
  EXPECT_TRUE(client.Lookup(first->digest())->found());
  EXPECT_FALSE(client.Lookup(std::string(32, 'n'))->found());
  Stop();

  ASSERT_EQ(Start(), 0);
  TestClient again = Client();
  absl::StatusOr<proto::CompileReply> third = again.Compile("x", 1);
  EXPECT_EQ(third->tier(), "disk");
  EXPECT_EQ(third->entry(), first->entry());
  absl::StatusOr<proto::StatsReply> stats = again.Stats();
  EXPECT_EQ(stats->compiles(), 1u);  // counted in the earlier life
  EXPECT_EQ(stats->misses(), 1u);
  EXPECT_EQ(stats->hits(), 3u);
  EXPECT_EQ(stats->entries(), 1u);
  EXPECT_EQ(stats->bytes(), first->entry().size());
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(WorkTest, SixtyFourClientsOneCompile) {
  ASSERT_EQ(Start(), 0);
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int i = 0; i < 64; ++i) {
    clients.emplace_back([&] {
      TestClient client = Client();
      absl::StatusOr<proto::CompileReply> reply = client.Compile("sleep 300", 1);
      if (reply.ok() && !reply->entry().empty()) ++good;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 64);
  EXPECT_EQ(Jobs().size(), 1u);
  absl::StatusOr<proto::StatsReply> stats = Client().Stats();
  EXPECT_EQ(stats->compiles(), 1u);
  EXPECT_EQ(stats->misses(), 1u);
  EXPECT_EQ(stats->hits(), 63u);
}

TEST_F(WorkTest, DiagnosticsAreAnOkReplyAndNotCached) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<proto::CompileReply> reply = client.Compile("error", 1);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_TRUE(reply->entry().empty());
    ASSERT_EQ(reply->diagnostics_size(), 1);
    EXPECT_EQ(reply->diagnostics(0).message(), "the program is wrong");
  }
  EXPECT_EQ(Jobs().size(), 2u);
  EXPECT_EQ(Client().Stats()->errors(), 2u);
}

TEST_F(WorkTest, AFailureOfKilnIsAnError) {
  ASSERT_EQ(Start(), 0);
  const absl::Status status = Client().Compile("fail", 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "the compiler failed");
  EXPECT_EQ(Jobs().size(), 1u);  // an invalid answer is not retried
}

TEST_F(WorkTest, AKilledWorkerCostsARetry) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  absl::StatusOr<proto::CompileReply> reply = client.Compile("die-once " + TempPath("died"), 1);
  EXPECT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(Jobs().size(), 2u);
  EXPECT_EQ(client.Stats()->worker_deaths(), 1u);
}

TEST_F(WorkTest, KillingTheWorkerFromOutsideCostsARetry) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  absl::StatusOr<proto::CompileReply> reply = absl::UnknownError("");
  std::thread caller([&] { reply = Client().Compile("sleep 300", 1); });
  AwaitJobs(1);
  const std::string children =
      ReadFile(absl::StrCat("/proc/", DaemonPid(), "/task/", DaemonPid(), "/children"));
  // The worker is a child of the pool's thread.
  for (int tid = DaemonPid() + 1; tid < DaemonPid() + 64; ++tid) {
    int worker = 0;
    const std::string text =
        ReadFile(absl::StrCat("/proc/", DaemonPid(), "/task/", tid, "/children"));
    if (absl::SimpleAtoi(text, &worker)) kill(worker, SIGKILL);
  }
  caller.join();
  EXPECT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(Jobs().size(), 2u);
}

TEST_F(WorkTest, AWorkerThatDiesTwiceIsAClearError) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  const absl::Status status = client.Compile("die", 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "signal 9")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "twice")) << status;
  EXPECT_EQ(Jobs().size(), 2u);
  EXPECT_TRUE(client.Compile("x", 2).ok());
}

TEST_F(WorkTest, LinkJobsAreRetriedLikeCompilations) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  proto::LinkRequest request;
  request.add_objects("one ");
  request.add_objects("two");
  request.set_name("die-once " + TempPath("died"));
  absl::StatusOr<proto::LinkReply> reply = client.Call<proto::LinkReply>(FrameType::kLink, request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->file(), "one two");
  EXPECT_EQ(Jobs().size(), 2u);
  EXPECT_EQ(client.Stats()->worker_deaths(), 1u);
  // Nothing is cached.
  EXPECT_TRUE(client.Call<proto::LinkReply>(FrameType::kLink, request).ok());
  EXPECT_EQ(Jobs().size(), 3u);
  EXPECT_EQ(client.Stats()->entries(), 0u);

  request.set_name("die");
  const absl::Status status = client.Call<proto::LinkReply>(FrameType::kLink, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "linking die lost its worker")) << status;
  // And is not tried again for a while.
  EXPECT_FALSE(client.Call<proto::LinkReply>(FrameType::kLink, request).ok());
  EXPECT_EQ(Jobs().size(), 5u);
}

TEST_F(WorkTest, AStoppedWorkerIsKilledAtTheLimit) {
  ASSERT_EQ(Start({"--job-seconds=0.4"}), 0);
  TestClient client = Client();
  const absl::Time start = absl::Now();
  const absl::Status status = client.Compile("stop", 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(status.message(), "longer than 400ms")) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_TRUE(client.Compile("x", 2).ok());
}

TEST_F(WorkTest, ReplacesAWorkerThatSendsGarbage) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  const absl::Status status = client.Compile("garbage", 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "magic")) << status;
  EXPECT_TRUE(client.Compile("x", 2).ok());
}

TEST_F(WorkTest, WorkersAreReplacedAfterTheirShareOfJobs) {
  ASSERT_EQ(Start({"--workers=1", "--worker-jobs=2"}), 0);
  TestClient client = Client();
  std::set<std::string> workers;
  for (int seed = 0; seed < 6; ++seed) {
    absl::StatusOr<proto::CompileReply> reply = client.Compile("pid", seed);
    ASSERT_TRUE(reply.ok()) << reply.status();
    workers.insert(std::string(DecodeEntry(reply->entry())->payload));
  }
  EXPECT_EQ(workers.size(), 3u);
  EXPECT_EQ(client.Stats()->worker_deaths(), 0u);
}

TEST_F(WorkTest, MemoryIsLimited) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer maps more than any limit";
  ASSERT_EQ(Start({"--job-bytes=268435456"}), 0);
  TestClient client = Client();
  EXPECT_EQ(client.Compile("eat", 1).status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(client.Compile("x", 2).ok());
}

TEST_F(WorkTest, ADeadlineEndsTheWaitAndTheJob) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  TestClient client = Client();
  absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Compile("sleep 20000", 1, 200).status()));
  // The only worker is free immediately.
  EXPECT_TRUE(client.Compile("x", 2).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(WorkTest, AClientThatHangsUpCancelsItsJob) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  {
    TestClient client = Client();
    ASSERT_TRUE(WriteFrame(client.fd(), FrameType::kCompile, 1, RequestFor("sleep 20000", 1)).ok());
    AwaitJobs(1);
  }
  const absl::Time start = absl::Now();
  EXPECT_TRUE(Client().Compile("x", 2).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(WorkTest, ACancelledClientDoesNotTakeTheResultFromOthers) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  absl::StatusOr<proto::CompileReply> reply = absl::UnknownError("");
  {
    TestClient leaver = Client();
    ASSERT_TRUE(WriteFrame(leaver.fd(), FrameType::kCompile, 1, RequestFor("sleep 600", 1)).ok());
    AwaitJobs(1);
    std::thread stayer([&] { reply = Client().Compile("sleep 600", 1); });
    absl::SleepFor(absl::Milliseconds(100));
    shutdown(leaver.fd(), SHUT_RDWR);
    stayer.join();
  }
  EXPECT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(WorkTest, AFullQueueIsReported) {
  ASSERT_EQ(Start({"--workers=1", "--max-queue=1"}), 0);
  TestClient running = Client(), waiting = Client(), late = Client();
  ASSERT_TRUE(WriteFrame(running.fd(), FrameType::kCompile, 1, RequestFor("sleep 800", 1)).ok());
  AwaitJobs(1);
  ASSERT_TRUE(WriteFrame(waiting.fd(), FrameType::kCompile, 1, RequestFor("x", 2)).ok());
  while (late.Stats()->waiting() == 0) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_TRUE(WriteFrame(late.fd(), FrameType::kCompile, 1, RequestFor("x", 3)).ok());
  absl::StatusOr<Frame> answer = ReadFrame(late.fd());
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->type, FrameType::kError);
  proto::ErrorReply error;
  ASSERT_TRUE(error.ParseFromString(answer->body));
  EXPECT_EQ(error.code(), static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
  EXPECT_GT(error.retry_after_ms(), 0u);
  // The request in the queue is served.
  EXPECT_EQ(ReadFrame(waiting.fd())->type, FrameType::kCompileReply);
  EXPECT_TRUE(late.Compile("x", 3).ok());
}

TEST_F(WorkTest, ConnectionsAreBounded) {
  ASSERT_EQ(Start({"--max-connections=3"}), 0);
  std::vector<TestClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Client());
  absl::StatusOr<TestClient> fourth = TestClient::Connect(SocketPath());
  EXPECT_TRUE(absl::IsResourceExhausted(fourth.status())) << fourth.status();
  clients.pop_back();
  absl::StatusOr<TestClient> next = absl::UnknownError("");
  for (int i = 0; i < 200 && !next.ok(); ++i) {
    next.~StatusOr();
    new (&next) absl::StatusOr<TestClient>(TestClient::Connect(SocketPath()));
    if (!next.ok()) absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(next.ok()) << next.status();
}

TEST_F(WorkTest, NamesAMissingWorkerProgram) {
  worker_ = TempPath("no-such-worker");
  ASSERT_EQ(Start(), 0);
  const pid_t pid = DaemonPid();
  TestClient client = Client();  // it can still be looked at and ended
  EXPECT_TRUE(client.Stats().ok());
  const absl::Status status = client.Compile("x", 1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), worker_)) << status;
  EXPECT_TRUE(AwaitEnd(pid));  // of no use, so that the next client starts another
}

TEST_F(WorkTest, NamesAWorkerProgramThatIsDeleted) {
  worker_ = TempPath("worker");
  ASSERT_EQ(RunProgram({"/bin/cp", TestWorkerPath(), worker_}), 0);
  ASSERT_EQ(Start({"--workers=1"}), 0);
  TestClient client = Client();
  ASSERT_TRUE(client.Compile("x", 1).ok());
  unlink(worker_.c_str());
  const absl::Status status = client.Compile("die", 2).status();
  EXPECT_TRUE(absl::StrContains(status.message(), worker_)) << status;
  EXPECT_TRUE(client.Compile("x", 1).ok());  // cached entries are still served
}

TEST_F(WorkTest, NonCanonicalUnitsAreRefused) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  proto::CompileRequest request = RequestFor("x", 1);
  request.mutable_unit()->append("\xfa\x3f\x01z", 4);  // an unknown field
  EXPECT_TRUE(absl::IsInvalidArgument(
      client.Call<proto::CompileReply>(FrameType::kCompile, request).status()));
  request.set_unit("");
  EXPECT_TRUE(absl::IsInvalidArgument(
      client.Call<proto::CompileReply>(FrameType::kCompile, request).status()));
}

TEST_F(WorkTest, StaysSmall) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not ours";
  ASSERT_EQ(Start(), 0);
  std::vector<std::thread> clients;
  for (int i = 0; i < 64; ++i) {
    clients.emplace_back([&, i] {
      TestClient client = Client();
      for (int j = 0; j < 20; ++j) {
        ASSERT_TRUE(client.Compile("big 200000", i * 8 + j % 8).ok());
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const int kilobytes = ResidentKilobytes(DaemonPid());
  std::printf("resident after load: %d kB\n", kilobytes);
  EXPECT_LT(kilobytes, 40 << 10);
}

}  // namespace
}  // namespace kiln
