// The public API over TCP, end to end: kilnd, its gRPC front, a test worker.
#include <grpcpp/generic/generic_stub.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/wire/version.h"
#include "server/grpc_front/grpc_fixture.h"

namespace kiln {
namespace {

class GrpcTest : public GrpcFixture {
 protected:
  void Begin(const std::vector<std::string>& flags = {}) {
    GrpcFixture::Begin("anonymous_rights: 11", flags);
    stub_ = Connect();
  }
  grpc::Status Compile(const std::string& name, uint64_t seed, proto::CompileReply* reply,
                       int deadline_ms = 20000) {
    return GrpcFixture::Compile(stub_.get(), "", name, seed, reply, deadline_ms);
  }

  // The process of the front, -1 if there is none.
  pid_t FrontPid() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (ReadFile(entry.path().string() + "/cmdline").find("--socket=" + SocketPath()) !=
          std::string::npos) {
        return std::stoi(entry.path().filename());
      }
    }
    return -1;
  }

  std::unique_ptr<Stub> stub_;
};

TEST_F(GrpcTest, CompilesAndLooksUp) {
  Begin();
  proto::CompileReply over_tcp;
  grpc::Status status = Compile("x", 1, &over_tcp);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(over_tcp.tier(), "compiled");
  // Both transports use the same daemon and cache.
  absl::StatusOr<proto::CompileReply> over_socket = Client().Compile("x", 1);
  EXPECT_EQ(over_socket->tier(), "memory");
  EXPECT_EQ(over_socket->entry(), over_tcp.entry());

  grpc::ClientContext lookup_context;
  proto::LookupRequest lookup;
  lookup.add_digests(over_tcp.digest());
  lookup.add_digests(std::string(32, 'n'));
  proto::LookupReply found;
  ASSERT_TRUE(stub_->Lookup(&lookup_context, lookup, &found).ok());
  EXPECT_EQ(found.results(0).entry(), over_tcp.entry());
  EXPECT_FALSE(found.results(1).found());

  grpc::ClientContext capabilities_context;
  proto::CapabilitiesReply capabilities;
  ASSERT_TRUE(
      stub_->Capabilities(&capabilities_context, proto::CapabilitiesRequest(), &capabilities).ok());
  EXPECT_EQ(capabilities.protocol(), kProtocolVersion);
  EXPECT_EQ(capabilities.compiler().size(), 32u);
  EXPECT_EQ(capabilities.cuda_compiler().size(), 32u);
  EXPECT_EQ(capabilities.max_message_bytes(), 16u << 20);
  EXPECT_EQ(absl::StrJoin(capabilities.targets(), " "), "x86-64-v2 x86-64-v3 x86-64-v4");

  grpc::ClientContext stats_context;
  proto::StatsReply stats;
  ASSERT_TRUE(stub_->Stats(&stats_context, proto::StatsRequest(), &stats).ok());
  EXPECT_EQ(stats.compiles(), 1u);
  EXPECT_EQ(stats.hits(), 2u);
}

// Whether the entry is found over `stub`.
bool Finds(proto::Kiln::Stub* stub, const std::string& digest) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  proto::LookupRequest request;
  request.add_digests(digest);
  proto::LookupReply reply;
  const grpc::Status status = stub->Lookup(&context, request, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return status.ok() && reply.results(0).found();
}

TEST_F(GrpcTest, AnswersARepeatedLookUpWithoutKilnd) {
  Begin();
  proto::CompileReply made;
  ASSERT_TRUE(Compile("x", 1, &made).ok());
  EXPECT_TRUE(Finds(stub_.get(), made.digest()));
  kill(DaemonPid(), SIGSTOP);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Finds(stub_.get(), made.digest()));
  kill(DaemonPid(), SIGCONT);
  // The front reports its hits, and kilnd counts them.
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (Client().Stats()->hits() < 11 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  const auto stats = Client().Stats();
  EXPECT_EQ(stats->hits(), 11u);
  EXPECT_EQ(stats->hits_by_tier().at("memory"), 1u);
  EXPECT_EQ(stats->hits_by_tier().at("front"), 10u);
}

TEST_F(GrpcTest, ClearedEntriesAreNotFoundFromThenOn) {
  Begin();
  for (uint64_t round = 1; round <= 20; ++round) {
    proto::CompileReply made;
    ASSERT_TRUE(Compile("x", round, &made).ok());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(Finds(stub_.get(), made.digest()));
    ASSERT_TRUE(Client().Call<proto::ClearReply>(FrameType::kClear, proto::ClearRequest()).ok());
    EXPECT_FALSE(Finds(stub_.get(), made.digest())) << round;
  }
}

TEST_F(GrpcTest, KeepsNothingWithHardlyAnyMemory) {
  GrpcFixture::Begin("anonymous_rights: 11 } memory { max_bytes: 1000");
  stub_ = Connect();
  proto::CompileReply made;
  ASSERT_TRUE(Compile("x", 1, &made).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Finds(stub_.get(), made.digest()));
  EXPECT_EQ(Client().Stats()->hits_by_tier().at("disk"), 3u);
}

TEST_F(GrpcTest, ManyCallersOneCompile) {
  Begin();
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&] {
      proto::CompileReply reply;
      good += Compile("sleep 300", 1, &reply).ok();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 16);
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(GrpcTest, ErrorsKeepTheirCodes) {
  Begin();
  proto::CompileReply reply;
  grpc::Status status = Compile("fail", 1, &reply);
  EXPECT_EQ(status.error_code(), grpc::INTERNAL);
  EXPECT_EQ(status.error_message(), "the compiler failed");
  grpc::ClientContext context;
  proto::LookupRequest lookup;
  lookup.add_digests("short");
  proto::LookupReply found;
  EXPECT_EQ(stub_->Lookup(&context, lookup, &found).error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(GrpcTest, DeadlinesAndCancellationReachTheWorker) {
  Begin({"--workers=1"});
  proto::CompileReply reply;
  const absl::Time start = absl::Now();
  EXPECT_EQ(Compile("sleep 20000", 1, &reply, 300).error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Compile("x", 2, &reply).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(GrpcTest, LargeMessagesPassAndTooLargeOnesAreRefused) {
  Begin();
  proto::CompileRequest request = RequestFor("x", 1);
  request.mutable_source_map()->add_files(std::string(15 << 20, 'x'));
  proto::CompileReply reply;
  const grpc::Status passed = Call(&Stub::Compile, stub_.get(), "", request, &reply);
  EXPECT_TRUE(passed.ok()) << passed.error_message();
  request.mutable_source_map()->add_files(std::string(2 << 20, 'x'));
  EXPECT_EQ(Call(&Stub::Compile, stub_.get(), "", request, &reply).error_code(),
            grpc::RESOURCE_EXHAUSTED);
}

TEST_F(GrpcTest, TheDeadlineOfTheRequestHoldsIfItIsTheEarlier) {
  Begin();
  proto::CompileRequest request = RequestFor("sleep 20000", 1);
  request.set_deadline_ms(200);
  proto::CompileReply reply;
  const absl::Time start = absl::Now();
  EXPECT_EQ(Call(&Stub::Compile, stub_.get(), "", request, &reply).error_code(),
            grpc::DEADLINE_EXCEEDED);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(GrpcTest, RestartsAFrontThatDies) {
  Begin();
  proto::CompileReply reply;
  ASSERT_TRUE(Compile("x", 1, &reply).ok());
  const pid_t front = FrontPid();
  ASSERT_GT(front, 0);
  kill(front, SIGKILL);
  EXPECT_TRUE(AwaitEnd(front));
  // The call that finds the connection broken may fail; later calls wait for the new one.
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (!Compile("x", 2, &reply).ok() && absl::Now() < give_up) {
  }
  EXPECT_TRUE(Compile("x", 2, &reply).ok());
}

// Calls that wait for a compiler must not delay calls that need none.
TEST_F(GrpcTest, LongCallsDoNotDelayOthers) {
  Begin();
  proto::CompileReply warm;
  ASSERT_TRUE(Compile("x", 1, &warm).ok());
  std::atomic<int> ended{0};
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 32; ++i) {
    callers.emplace_back([&] {
      good += GrpcFixture::Compile(Connect().get(), "", "sleep 3000", 2).ok();
      ++ended;
    });
  }
  absl::SleepFor(absl::Milliseconds(500));
  for (int i = 0; i < 50; ++i) {
    proto::LookupReply reply;
    ASSERT_TRUE(Lookup(stub_.get(), "", warm.digest(), &reply).ok());
    EXPECT_TRUE(reply.results(0).found());
  }
  EXPECT_EQ(ended, 0);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 32);
}

// A call of a method without generated code: messages are bytes.
class RawCall {
 public:
  RawCall(int port, const std::string& method, const std::string& request)
      : stub_(grpc::CreateChannel(absl::StrCat("localhost:", port),
                                  grpc::InsecureChannelCredentials())) {
    context_.set_wait_for_ready(true);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(this);
    Await();
    const grpc::Slice slice(request);
    stream_->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), this);
    Await();
  }
  // The next message; "" when there is none.
  std::string Next() {
    grpc::ByteBuffer buffer;
    stream_->Read(&buffer, this);
    if (!Await()) return "";
    grpc::Slice slice;
    EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
    return std::string(slice.begin(), slice.end());
  }
  grpc::StatusCode Finish() {
    grpc::Status status;
    stream_->Finish(&status, this);
    Await();
    return status.error_code();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  bool Await() {
    void* tag;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    return ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
const std::string kServing = "\x08\x01";
const std::string kNotServing = "\x08\x02";
const std::string kNoSuchService = "\x08\x03";
const std::string kOwnService = "\x0a\x0fkiln.proto.Kiln";
const std::string kOtherService = "\x0a\x05other";

TEST_F(GrpcTest, ReportsItsHealth) {
  Begin();
  for (const std::string& service : {std::string(), kOwnService}) {
    RawCall check(port_, kCheck, service);
    EXPECT_EQ(check.Next(), kServing);
    EXPECT_EQ(check.Finish(), grpc::OK);
  }
  EXPECT_EQ(RawCall(port_, kCheck, kOtherService).Finish(), grpc::NOT_FOUND);
  EXPECT_EQ(RawCall(port_, kCheck, "\x0a\x7f").Finish(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(RawCall(port_, "/kiln.proto.Kiln/Nothing", "").Finish(), grpc::UNIMPLEMENTED);
  RawCall other(port_, kWatch, kOtherService);
  EXPECT_EQ(other.Next(), kNoSuchService);
  other.Cancel();
  EXPECT_EQ(other.Finish(), grpc::CANCELLED);
}

TEST_F(GrpcTest, WatchersOfItsHealthGetChanges) {
  Begin();
  RawCall watch(port_, kWatch, "");
  EXPECT_EQ(watch.Next(), kServing);
  const pid_t daemon = DaemonPid();
  kill(daemon, SIGSTOP);
  EXPECT_EQ(watch.Next(), kNotServing);
  kill(daemon, SIGCONT);
  EXPECT_EQ(watch.Next(), kServing);
  // A caller that does not disconnect is told to, and does not delay the exit.
  const absl::Time start = absl::Now();
  Stop(SIGTERM);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_EQ(watch.Next(), kNotServing);
  EXPECT_EQ(watch.Finish(), grpc::UNAVAILABLE);
}

TEST_F(GrpcTest, TermUnderLoadLosesNoCall) {
  Begin();
  proto::CompileReply warm;
  ASSERT_TRUE(Compile("x", 1, &warm).ok());
  std::atomic<bool> told{false};
  std::atomic<int> good{0};
  std::atomic<int> bad{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      const std::unique_ptr<Stub> stub = Connect();
      // Every call that began before the signal succeeds.
      for (uint64_t round = 0; !told; ++round) {
        (GrpcFixture::Compile(stub.get(), "", "sleep 20", 1000 * i + round).ok() ? good : bad)++;
      }
    });
  }
  callers.emplace_back(
      [&] { (GrpcFixture::Compile(stub_.get(), "", "sleep 1500", 77777).ok() ? good : bad)++; });
  absl::SleepFor(absl::Milliseconds(500));
  told = true;
  const absl::Time start = absl::Now();
  Stop(SIGTERM);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(bad, 0);
  EXPECT_GT(good, 8);
}

TEST_F(GrpcTest, TheFrontExitsWithTheDaemon) {
  Begin();
  for (int i = 0; i < 500 && FrontPid() <= 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_GT(FrontPid(), 0);
  Stop(SIGKILL);
  for (int i = 0; i < 500 && FrontPid() > 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_LE(FrontPid(), 0);
}

}  // namespace
}  // namespace kiln
