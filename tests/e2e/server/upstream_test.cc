// A kilnd that uses another kilnd over gRPC, as a tier of its configuration or because a client
// names it (KILN_SERVER=HOST:PORT). The workers' log counts compilations.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/wire/error_detail.h"
#include "tests/e2e/server/cluster_fixture.h"
#include "tests/e2e/server/test_certificates.h"

namespace kiln {
namespace {

constexpr char kAccept[] = "trust { accept_unsigned: true }\n";

class UpstreamTest : public ClusterTest {
 protected:
  // Starts a kilnd that others may use; returns its number.
  int StartUpstream(const std::vector<std::string>& flags = {}) {
    const int i = AddKilnd(
        absl::StrCat("service { listen: \"", address_, "\" anonymous_rights: 3 }\n"), flags);
    EXPECT_TRUE(Eventually([&] { return Listens(); }));
    return i;
  }
  bool Listens() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(std::stoi(address_.substr(address_.rfind(':') + 1)));
    // kilnd owns the socket; when the front has started, it sends its settings.
    pollfd settings = {fd, POLLIN, 0};
    const bool listens = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                         poll(&settings, 1, 1000) > 0;
    close(fd);
    return listens;
  }
  std::string Config(const std::string& more = kAccept) const {
    return absl::StrCat("tier { upstream { address: \"", address_, "\" } }\n", more);
  }
  // The number of compilations by its own workers.
  uint64_t CompiledAt(int i) const { return Client(i).Stats()->compiles(); }
  // A client of kilnd `i` with KILN_SERVER set.
  TestClient ClientThatAsks(int i, bool strictly = false) const {
    absl::StatusOr<TestClient> client =
        TestClient::Connect(homes_[i]->SocketPath().value_or(""), /*greet=*/false);
    EXPECT_TRUE(client.ok()) << client.status();
    proto::Hello hello;
    hello.set_protocol(kProtocolVersion);
    hello.set_build(kVersion);
    hello.mutable_upstream()->set_address(address_);
    hello.set_upstream_required(strictly);
    EXPECT_TRUE(client->Call<proto::HelloReply>(FrameType::kHello, hello).ok());
    return *std::move(client);
  }

  const std::string address_ = FreeAddress();
};

TEST_F(UpstreamTest, CompilesForAllItsClients) {
  const int up = StartUpstream();
  const int first = AddKilnd(Config());
  const int second = AddKilnd(Config());
  absl::StatusOr<proto::CompileReply> made = Client(first).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->tier(), "compiled");
  // The upstream compiled once; the entry is in this home's memory and disk tiers.
  EXPECT_EQ(Client(up).Stats()->compiles(), 1u);
  EXPECT_EQ(Client(first).Stats()->compiles(), 0u);
  EXPECT_EQ(Client(first).Compile("x", 1)->tier(), "memory");
  EXPECT_EQ(ReadFile(homes_[first]->EntryPath(*Place::FromBytes(made->digest()))), made->entry());

  auto found = Client(second).Lookup(made->digest());
  ASSERT_TRUE(found.ok() && found->found());
  EXPECT_EQ(found->tier(), "upstream");
  EXPECT_EQ(found->entry(), made->entry());
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(UpstreamTest, AStormOfFourMachinesIsOneCompile) {
  StartUpstream();
  for (int i = 0; i < 4; ++i) AddKilnd(Config());
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 64; ++i) {
    clients.emplace_back([&, i] { good += Client(1 + i % 4).Compile("sleep 300", 1).ok(); });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 64);
  EXPECT_EQ(Jobs().size(), 1u);
}

// Machines that share a Redis and use an upstream: only the holder of the lease asks the upstream.
TEST_F(UpstreamTest, WithARedisAStormIsOneCompile) {
  if (!RedisServer::Installed()) GTEST_SKIP() << "there is no redis-server here";
  redis_->Start();
  const int up = StartUpstream();
  for (int i = 0; i < 4; ++i) AddKilnd(RedisConfig("lease_ms: 1000") + Config(/*more=*/""));
  const auto storm = [&](const std::string& name, int from) {
    std::atomic<int> good{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 64; ++i) {
      clients.emplace_back([&, i] { good += Client(from + i % (5 - from)).Compile(name, 1).ok(); });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(good, 64);
  };
  storm("sleep 500", 1);
  EXPECT_EQ(Jobs().size(), 1u);
  EXPECT_EQ(CompiledAt(up), 1u);
  // The holder is killed while it waits for the upstream.
  std::thread holder([&] { Client(1).Compile("sleep 2000", 2).IgnoreError(); });
  AwaitJobs(2);
  std::thread waiters([&] {
    EXPECT_TRUE(Client(2).Compile("sleep 2000", 2).ok());
    EXPECT_TRUE(Client(3).Compile("sleep 2000", 2).ok());
  });
  absl::SleepFor(absl::Milliseconds(300));
  kill(Pid(1), SIGKILL);
  holder.join();
  waiters.join();
  EXPECT_LE(Jobs().size(), 3u);
  EXPECT_EQ(CompiledAt(2) + CompiledAt(3), 0u);
}

TEST_F(UpstreamTest, ReturnsDiagnostics) {
  StartUpstream();
  const int here = AddKilnd(Config());
  absl::StatusOr<proto::CompileReply> reply = Client(here).Compile("error", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->diagnostics_size(), 1);
  EXPECT_EQ(reply->diagnostics(0).message(), "the program is wrong");
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(UpstreamTest, ContinuesWithoutAnUpstreamThatIsDown) {
  const int up = StartUpstream();
  const int here = AddKilnd(Config());
  ASSERT_TRUE(Client(here).Compile("x", 1).ok());
  EXPECT_EQ(CompiledAt(here), 0u);
  StopKilnd(up, SIGKILL);
  for (int seed = 2; seed < 8; ++seed) {
    const absl::Time start = absl::Now();
    absl::StatusOr<proto::CompileReply> reply = Client(here).Compile("x", seed);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(CompiledAt(here), static_cast<uint64_t>(seed - 1));
    EXPECT_LT(absl::Now() - start, absl::Seconds(2));
  }
  EXPECT_TRUE(absl::StrContains(LogText(here), "tier upstream is not used for now"));
  // After its restart, the upstream is used again.
  ASSERT_TRUE(Eventually([&] { return !Listens(); }));
  StartKilnd(up);
  uint64_t seed = 100;
  EXPECT_TRUE(Eventually([&] {
    absl::SleepFor(absl::Milliseconds(100));
    const uint64_t before = CompiledAt(here);
    return Client(here).Compile("x", ++seed).ok() && CompiledAt(here) == before;
  }));
}

TEST_F(UpstreamTest, AHungUpstreamCostsABoundedTime) {
  const int up = StartUpstream();
  const int here = AddKilnd(absl::StrCat("tier { get_ms: 200 upstream { address: \"", address_,
                                         "\" compile_ms: 500 } }\n", kAccept));
  ASSERT_TRUE(Client(here).Compile("x", 1).ok());
  EXPECT_EQ(CompiledAt(here), 0u);
  kill(Pid(up), SIGSTOP);
  const absl::Time start = absl::Now();
  for (int seed = 2; seed < 6; ++seed) {
    EXPECT_TRUE(Client(here).Compile("x", seed).ok());
  }
  EXPECT_EQ(CompiledAt(here), 4u);
  std::printf("four misses beside a hung upstream: %s\n",
              absl::FormatDuration(absl::Now() - start).c_str());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(UpstreamTest, ASingleClientDetectsAHungRemote) {
  StartUpstream();
  const int here = AddKilnd(Config());
  ASSERT_TRUE(Client(here).Compile("x", 1).ok());
  std::thread client([&] { EXPECT_TRUE(Client(here).Compile("sleep 2000", 2).ok()); });
  AwaitJobs(2);
  ASSERT_EQ(RunProgram({"/usr/bin/pkill", "-STOP", "-P", absl::StrCat(Pid(here)), "kilnd-remote"}),
            0);
  const absl::Time start = absl::Now();
  client.join();
  // Two seconds without a sign of life, and the same again to compile locally.
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(CompiledAt(here), 1u);
}

TEST_F(UpstreamTest, NamesAnotherCompilerAndDoesNotUseIt) {
  // A compiler's identity depends on build ids, so change the one in the file.
  const std::string worker = TempPath("other-worker");
  std::string program = ReadFile(TestWorkerPath());
  const std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  const size_t at = program.find(note);
  ASSERT_NE(at, std::string::npos);
  program[at + note.size()] ^= 1;
  WriteFile(worker, program);
  ASSERT_EQ(RunProgram({"/bin/chmod", "755", worker}), 0);
  StartUpstream({"--worker=" + worker});
  const int here = AddKilnd(Config());
  absl::StatusOr<proto::CompileReply> reply = Client(here).Compile("x", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(CompiledAt(here), 1u);
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(LogText(here), "differs in compiler"); }))
      << LogText(here);
}

TEST_F(UpstreamTest, RefusesUnsignedResultsAndCompilesLocally) {
  StartUpstream();
  const int here = AddKilnd(Config(/*more=*/""));
  absl::StatusOr<proto::CompileReply> reply = Client(here).Compile("x", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(CompiledAt(here), 1u);
}

TEST_F(UpstreamTest, AClientMayNameAnUpstream) {
  const int up = StartUpstream();
  const int here = AddKilnd(kAccept);
  // Without a tier in its configuration the daemon asks only for clients that name the upstream.
  absl::StatusOr<proto::CompileReply> reply = ClientThatAsks(here).Compile("x", 1);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(CompiledAt(here), 0u);
  EXPECT_TRUE(Client(here).Compile("x", 2).ok());
  EXPECT_EQ(CompiledAt(here), 1u);
  EXPECT_EQ(Client(up).Stats()->compiles(), 1u);
  // Others of this home and clients of the upstream now find the entry by key.
  ASSERT_TRUE(Client(up).Compile("x", 3).ok());
  auto found = ClientThatAsks(here).Compile("x", 3);
  EXPECT_EQ(found->tier(), absl::StrCat("upstream ", address_));
  EXPECT_EQ(found->fallback(), "");
}

TEST_F(UpstreamTest, TellsTheClientWhyItsUpstreamIsNotUsed) {
  const int up = StartUpstream();
  const int here = AddKilnd(kAccept);
  ASSERT_TRUE(ClientThatAsks(here).Compile("x", 1).ok());
  StopKilnd(up, SIGKILL);
  for (uint64_t seed = 2; seed < 8; ++seed) {  // before the breaker opens, and after
    auto made = ClientThatAsks(here).Compile("x", seed);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(absl::StrContains(made->fallback(), address_)) << made->fallback();
    // A client that insists on its upstream gets no local compilation.
    const absl::Status refused =
        ClientThatAsks(here, /*strictly=*/true).Compile("x", 100 + seed).status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
    EXPECT_EQ(PartOf(refused), "upstream");
    EXPECT_TRUE(absl::StrContains(refused.message(), address_)) << refused;
  }
  EXPECT_EQ(CompiledAt(here), 6u);
  // A client without an upstream gets no such message.
  EXPECT_EQ(Client(here).Compile("x", 50)->fallback(), "");
  // An entry in this home needs no upstream.
  EXPECT_TRUE(ClientThatAsks(here, /*strictly=*/true).Compile("x", 1).ok());
}

TEST_F(UpstreamTest, TellsTheClientAboutRefusedResults) {
  StartUpstream();
  const int here = AddKilnd("");
  auto made = ClientThatAsks(here).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(absl::StrContains(made->fallback(), "sign")) << made->fallback();
  EXPECT_EQ(CompiledAt(here), 1u);
}

TEST_F(UpstreamTest, DetectsAnUpstreamStoppedWhileCompiling) {
  const int up = StartUpstream();
  const int here = AddKilnd(kAccept);
  ASSERT_TRUE(ClientThatAsks(here).Compile("x", 1).ok());
  std::thread stops([&] {
    AwaitJobs(2);
    kill(Pid(up), SIGSTOP);
  });
  const absl::Time start = absl::Now();
  auto made = ClientThatAsks(here).Compile("sleep 500", 2);
  stops.join();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->tier(), "compiled");
  EXPECT_TRUE(absl::StrContains(made->fallback(), "no sign of life")) << made->fallback();
  std::printf("beside an upstream that was stopped: %s\n",
              absl::FormatDuration(absl::Now() - start).c_str());
  EXPECT_LT(absl::Now() - start, absl::Seconds(8));
  kill(Pid(up), SIGCONT);
}

TEST_F(UpstreamTest, WaitsForALongCompilation) {
  StartUpstream();
  const int here = AddKilnd(kAccept);
  auto made = ClientThatAsks(here).Compile("sleep 3000", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->fallback(), "");
  EXPECT_EQ(CompiledAt(here), 0u);
}

// Replaces all TLS files under load, one after the other.
TEST_F(UpstreamTest, CertificatesAndAuthoritiesAreRotated) {
  const TestAuthority before(dir_, "before"), after(dir_, "after");
  const auto trust = [&](const std::string& authorities) {
    WriteFile(TempPath("authorities.new"), authorities);
    std::filesystem::rename(TempPath("authorities.new"), TempPath("authorities"));
  };
  const auto issue = [&](const TestAuthority& authority) {
    authority.Issue("upstream", "localhost");
    authority.Issue("host", "host");
  };
  const auto config = [&](const std::string& name) {
    return absl::StrCat("tier { upstream { address: \"", address_,
                        "\" tls { enabled: true ca_file: \"authorities\" certificate_file: \"",
                        name, ".pem\" key_file: \"", name, ".key\" } } }\n", kAccept);
  };
  trust(ReadFile(before.ca_file()));
  issue(before);
  before.Issue("old", "host");
  const int up = AddKilnd(absl::StrCat(
      "service { listen: \"", address_, "\" certificate_file: \"upstream.pem\" ",
      "key_file: \"upstream.key\" client_ca_file: \"authorities\" connection_seconds: 1 }\n"));
  const int first = AddKilnd(config("host"));
  std::atomic<uint64_t> seed{100};
  const auto is_asked = [&] {
    const uint64_t count = CompiledAt(up);
    return Eventually(
        [&] { return Client(first).Compile("x", ++seed).ok() && CompiledAt(up) > count; });
  };
  ASSERT_TRUE(is_asked()) << LogText(first);

  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!stop) bad += !Client(first).Compile("x", ++seed).ok();
    });
  }
  const uint64_t compiled_here = CompiledAt(first);
  trust(ReadFile(before.ca_file()) + ReadFile(after.ca_file()));
  absl::SleepFor(absl::Seconds(4));  // files are reread, and connections re-established
  EXPECT_EQ(CompiledAt(first), compiled_here) << LogText(first);
  issue(after);
  absl::SleepFor(absl::Seconds(4));
  EXPECT_TRUE(is_asked()) << LogText(first);
  const uint64_t compiled_until = CompiledAt(first);
  trust(ReadFile(after.ca_file()));
  absl::SleepFor(absl::Seconds(4));
  EXPECT_TRUE(is_asked()) << LogText(first);
  EXPECT_EQ(CompiledAt(first), compiled_until) << LogText(first);
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(bad, 0);
  // Neither side accepts the old authority's certificates any more.
  const int late = AddKilnd(config("old"));
  EXPECT_TRUE(Client(late).Compile("x", ++seed).ok());
  EXPECT_EQ(CompiledAt(late), 1u);
}

}  // namespace
}  // namespace kiln
