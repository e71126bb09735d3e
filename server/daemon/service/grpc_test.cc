// The public API over TCP, end to end: kilnd, its gRPC front, a test worker.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/service.grpc.pb.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

class GrpcTest : public DaemonTest {
 protected:
  // kilnd and its front, on a port that was free a moment ago.
  void Begin(const std::vector<std::string>& more = {}) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    close(fd);
    const std::string where = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    const std::string kilnd = KilndPath();
    std::vector<std::string> flags = {"--listen=" + where,
                                      "--bin=" + kilnd.substr(0, kilnd.rfind('/')) + "/service"};
    flags.insert(flags.end(), more.begin(), more.end());
    ASSERT_EQ(Start(flags), 0);
    auto channel = grpc::CreateChannel(where, grpc::InsecureChannelCredentials());
    ASSERT_TRUE(
        channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)));
    stub_ = proto::Kiln::NewStub(channel);
  }
  grpc::Status Compile(const std::string& name, uint64_t seed, proto::CompileReply* reply,
                       int deadline_ms = 20000) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
    return stub_->Compile(&context, RequestFor(name, seed), reply);
  }

  std::unique_ptr<proto::Kiln::Stub> stub_;
};

TEST_F(GrpcTest, CompilesAndLooksUp) {
  Begin();
  proto::CompileReply over_tcp;
  grpc::Status status = Compile("x", 1, &over_tcp);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(over_tcp.tier(), "compiled");
  // One daemon, one cache, two ways in.
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

  grpc::ClientContext stats_context;
  proto::StatsReply stats;
  ASSERT_TRUE(stub_->Stats(&stats_context, proto::StatsRequest(), &stats).ok());
  EXPECT_EQ(stats.compiles(), 1u);
  EXPECT_EQ(stats.hits(), 2u);
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

TEST_F(GrpcTest, TheFrontEndsWithTheDaemon) {
  Begin();
  Stop(SIGKILL);
  auto front_runs = [this] {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (ReadFile(entry.path().string() + "/cmdline").find("--socket=" + SocketPath()) !=
          std::string::npos) {
        return true;
      }
    }
    return false;
  };
  for (int i = 0; i < 500 && front_runs(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(front_runs());
}

}  // namespace
}  // namespace kiln
