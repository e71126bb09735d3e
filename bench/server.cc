// Measures the server: a hit on a 20 kB entry in a process's own table, from a client's disk, over
// the local socket, over gRPC and over mutual TLS, compared with the same bytes without a daemon;
// hits per second of the server's processor time; a storm of 64 clients; a quick kernel behind
// another tenant's slow ones; a start with 100,000 entries.
//
//   bench/server --json=FILE --bin=DIR [--rounds=N] [--entries=N]
//
// bench/server.py runs it and the compiler caches, and makes the table. DIR contains kilnd,
// kilnd-grpc and kiln-worker.
#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client_cpp/connection.h"
#include "client_cpp/kernel_builder.h"
#include "client_cpp/session.h"
#include "common/artifact/entry.h"
#include "kiln/proto/service.grpc.pb.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

struct Options {
  std::string json, bin;
  int size = 20000;
  int rounds = 3000;
  int entries = 100000;
};
Options options;
std::map<std::string, double> figures;
constexpr absl::Duration kPatience = absl::Seconds(30);

double Percentile(const std::vector<double>& sorted, double fraction) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(sorted.size() * fraction))];
}

// A way to get the entry.
struct Way {
  std::string name;
  std::function<void()> call;
};

// Microseconds of each way's calls. The ways take turns, so that what else the machine does
// falls on all of them; the first turn does not count.
void Measure(const std::vector<Way>& ways) {
  // Long enough that the first calls of a turn, which find cold caches, are less than one in a
  // hundred.
  constexpr int kTurn = 250;
  std::map<std::string, std::vector<double>> micros;
  for (int i = -kTurn; i < options.rounds; i += kTurn) {
    for (const Way& way : ways) {
      for (int j = 0; j < kTurn; ++j) {
        const int64_t begin = absl::GetCurrentTimeNanos();
        way.call();
        const int64_t end = absl::GetCurrentTimeNanos();
        if (i >= 0) micros[way.name].push_back(static_cast<double>(end - begin) / 1e3);
      }
    }
  }
  for (auto& [name, times] : micros) {
    std::sort(times.begin(), times.end());
    figures[name + " p50"] = Percentile(times, 0.5);
    figures[name + " p99"] = Percentile(times, 0.99);
  }
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  close(fd);
  return ntohs(address.sin_port);
}

// Processor time and memory of a process and those that it started (the gRPC front).
struct Usage {
  double cpu_seconds = 0;
  double resident_mb = 0;
};
Usage UsageOf(pid_t pid) {
  Usage usage;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = ReadFile(entry.path().string() + "/stat");
    const size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    const std::vector<std::string> words = absl::StrSplit(stat.substr(end + 2), ' ');
    const int own = std::atoi(stat.c_str()), parent = std::atoi(words[1].c_str());
    if (own != pid && parent != pid) continue;
    const double ticks = std::atof(words[11].c_str()) + std::atof(words[12].c_str());
    usage.cpu_seconds += ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    // A worker's memory is the compiler's.
    if (stat.find("worker") > end) {
      usage.resident_mb +=
          std::atof(words[21].c_str()) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
    }
  }
  return usage;
}

// A process that answers requests of `request` bytes with `reply` bytes, to measure a bare socket.
class Echo {
 public:
  Echo(size_t request, size_t reply) : request_(request, '\0'), reply_(reply, '\0') {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(fds_[0]);
      while (Receive(fds_[1], &request_) && Send(fds_[1], reply_)) {
      }
      _exit(0);
    }
    close(fds_[1]);
  }
  ~Echo() {
    close(fds_[0]);
    waitpid(pid_, nullptr, 0);
  }
  Echo(const Echo&) = delete;
  void Call() { ASSERT_TRUE(Send(fds_[0], request_) && Receive(fds_[0], &reply_)); }

 private:
  static bool Send(int fd, const std::string& bytes) {
    return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  static bool Receive(int fd, std::string* bytes) {
    return recv(fd, bytes->data(), bytes->size(), MSG_WAITALL) ==
           static_cast<ssize_t>(bytes->size());
  }

  std::string request_, reply_;
  int fds_[2] = {-1, -1};
  pid_t pid_ = -1;
};

// gRPC alone: the same messages from a process that does nothing else.
class BareService final : public proto::Kiln::Service {
 public:
  explicit BareService(const std::string& entry) {
    proto::LookupReply::Result* result = reply_.add_results();
    result->set_found(true);
    result->set_entry(entry);
  }
  grpc::Status Lookup(grpc::ServerContext*, const proto::LookupRequest*,
                      proto::LookupReply* reply) override {
    *reply = reply_;
    return grpc::Status::OK;
  }

 private:
  proto::LookupReply reply_;
};

class BareServer {
 public:
  using Tls = grpc::SslServerCredentialsOptions;
  // Before this process has used gRPC: it could not be forked after that. With mutual TLS if
  // `tls` has certificates.
  explicit BareServer(const std::string& entry, const Tls& tls = Tls()) {
    if (pipe2(alive_, O_CLOEXEC) != 0 || pipe2(told_, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) Serve(entry, tls);
    close(alive_[0]);
    if (read(told_[0], &port_, sizeof port_) != sizeof port_) std::abort();
  }
  ~BareServer() {
    close(alive_[1]);
    waitpid(pid_, nullptr, 0);
  }
  BareServer(const BareServer&) = delete;
  std::string address() const { return absl::StrCat("localhost:", port_); }
  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] void Serve(const std::string& entry, const Tls& tls) {
    close(alive_[1]);
    BareService service(entry);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             tls.pem_key_cert_pairs.empty() ? grpc::InsecureServerCredentials()
                                                            : grpc::SslServerCredentials(tls),
                             &port_);
    builder.RegisterService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (write(told_[1], &port_, sizeof port_) != sizeof port_) std::abort();
    char end;
    _exit(read(alive_[0], &end, 1) == 0 ? 0 : 1);
  }

  int alive_[2] = {-1, -1};  // never written to: it closes when this process ends
  int told_[2] = {-1, -1};
  int port_ = 0;
  pid_t pid_ = -1;
};

class ServerBench : public DaemonTest {
 protected:
  std::unique_ptr<proto::Kiln::Stub> Stub(const std::string& address,
                                          const std::shared_ptr<grpc::ChannelCredentials>& how) {
    grpc::ChannelArguments own_connection;
    own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto channel = grpc::CreateCustomChannel(address, how, own_connection);
    EXPECT_TRUE(
        channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)));
    return proto::Kiln::NewStub(channel);
  }

  template <typename Reply, typename Request>
  static Reply Get(Connection* connection, FrameType type, const Request& request) {
    Reply reply;
    const auto reply_type = static_cast<FrameType>(static_cast<uint32_t>(type) + 1);
    const absl::Status status =
        connection->Call(type, request, reply_type, &reply, absl::Now() + kPatience);
    EXPECT_TRUE(status.ok()) << status;
    return reply;
  }

  static void Ask(proto::Kiln::Stub* stub, const proto::LookupRequest& request) {
    grpc::ClientContext context;
    proto::LookupReply reply;
    const grpc::Status status = stub->Lookup(&context, request, &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_TRUE(reply.results(0).found());
  }

  // Calls from `threads` threads for two seconds, per processor time of `server`.
  template <typename MakeCall>
  static void Throughput(const std::string& name, pid_t server, int threads, MakeCall make) {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> calls{0};
    std::vector<std::thread> callers;
    const double before = UsageOf(server).cpu_seconds;
    callers.reserve(threads);
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&] {
        auto call = make();
        while (!stop) {
          call();
          ++calls;
        }
      });
    }
    absl::SleepFor(absl::Seconds(2));
    stop = true;
    for (std::thread& caller : callers) caller.join();
    const double cpu = UsageOf(server).cpu_seconds - before;
    figures[name + " hits per cpu second"] = static_cast<double>(calls) / cpu;
    figures[name + " hits per second"] = static_cast<double>(calls) / 2;
  }

  // A authority and one certificate for both ends, made by openssl.
  bool MakeCertificates() {
    const std::string script = absl::StrCat(
        "cd ", dir_,
        " && openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem "
        "-subj /CN=bench-ca -days 2 2>/dev/null && openssl req -newkey rsa:2048 -nodes -keyout "
        "own.key -out own.csr -subj /CN=bench 2>/dev/null && printf "
        "'subjectAltName=DNS:localhost,IP:127.0.0.1' > ext && openssl x509 -req -in own.csr -CA "
        "ca.pem -CAkey ca.key -CAcreateserial -out own.pem -days 2 -extfile ext 2>/dev/null");
    return std::system(script.c_str()) == 0;
  }
  grpc::SslCredentialsOptions Tls() const {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = ReadFile(TempPath("ca.pem"));
    tls.pem_private_key = ReadFile(TempPath("own.key"));
    tls.pem_cert_chain = ReadFile(TempPath("own.pem"));
    return tls;
  }
  BareServer::Tls ServerTls() const {
    const grpc::SslCredentialsOptions own = Tls();
    BareServer::Tls tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = own.pem_root_certs;
    tls.pem_key_cert_pairs.push_back({own.pem_private_key, own.pem_cert_chain});
    return tls;
  }
};

// A second kilnd, with mutual TLS.
class TlsDaemon {
 public:
  TlsDaemon(const std::string& folder, const std::string& worker, int port)
      : home_(*Home::Find(folder + "/tls-home")) {
    WriteFile(folder + "/conf",
              absl::StrCat("service { listen: \"127.0.0.1:", port,
                           "\" certificate_file: \"own.pem\" key_file: \"own.key\" "
                           "client_ca_file: \"ca.pem\" }\n"));
    EXPECT_EQ(RunProgram({KilndPath(), "--home=" + home_.dir(), "--worker=" + worker, "--daemonize",
                          "--workers=1", "--config=" + folder + "/conf", "--bin=" + options.bin}),
              0);
  }
  ~TlsDaemon() {
    proto::ShutdownReply reply;
    EXPECT_TRUE(Open()
                    ->Call(FrameType::kShutdown, proto::ShutdownRequest(),
                           FrameType::kShutdownReply, &reply, absl::Now() + kPatience)
                    .ok());
  }
  std::unique_ptr<Connection> Open() const {
    return *Connection::Open(*home_.SocketPath(), kPatience);
  }

 private:
  const Home home_;
};

// A process that has the kernel already.
struct OwnTable {
  explicit OwnTable(const std::string& home) {
    SessionOptions own;
    own.home = home;
    own.bin_dir = options.bin;
    own.server = "off";
    session = *Session::Create(own);
    KernelBuilder builder;
    EXPECT_TRUE(builder.Finish(&unit, &map).ok());
    EXPECT_EQ(Hit(), "compiled");
  }
  std::string Hit() const {
    const absl::StatusOr<CompileOutcome> outcome = session->Compile(unit, map, {});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->tier : "";
  }

  std::shared_ptr<Session> session;
  proto::CompileUnit unit;
  proto::SourceMap map;
};

TEST_F(ServerBench, LookUps) {
  const int port = FreePort(), tls_port = FreePort();
  const std::string address = absl::StrCat("localhost:", port);
  ASSERT_TRUE(MakeCertificates());
  ASSERT_EQ(Start({absl::StrCat("--listen=127.0.0.1:", port), "--bin=" + options.bin}), 0);
  const TlsDaemon tls_daemon(dir_, worker_, tls_port);
  const std::unique_ptr<Connection> connection = *Connection::Open(SocketPath(), kPatience);
  const proto::CompileRequest compile = RequestFor(absl::StrCat("big ", options.size), 1);
  const proto::CompileReply made =
      Get<proto::CompileReply>(connection.get(), FrameType::kCompile, compile);
  Get<proto::CompileReply>(tls_daemon.Open().get(), FrameType::kCompile, compile);
  proto::LookupRequest request;
  request.add_digests(made.digest());
  figures["entry bytes"] = static_cast<double>(made.entry().size());

  const BareServer bare(made.entry()), bare_tls(made.entry(), ServerTls());
  const OwnTable table(TempPath("process"));
  const std::string path = EntryPath(made);
  Echo echo(kFrameHeaderSize + request.ByteSizeLong(), kFrameHeaderSize + made.entry().size());
  const auto plain = grpc::InsecureChannelCredentials();
  auto bare_stub = Stub(bare.address(), plain);
  auto bare_tls_stub = Stub(bare_tls.address(), grpc::SslCredentials(Tls()));
  auto stub = Stub(address, plain);
  auto tls_stub = Stub(absl::StrCat("localhost:", tls_port), grpc::SslCredentials(Tls()));
  const auto look_up = [&request](Connection* on) {
    const auto reply = Get<proto::LookupReply>(on, FrameType::kLookup, request);
    ASSERT_TRUE(reply.results(0).found());
  };
  Measure({
      {"process", [&] { ASSERT_EQ(table.Hit(), "process"); }},
      {"disk, mapped and checked",
       [&] {
         const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
         void* bytes = mmap(nullptr, made.entry().size(), PROT_READ, MAP_PRIVATE, fd, 0);
         ASSERT_TRUE(DecodeEntry({static_cast<const char*>(bytes), made.entry().size()}).ok());
         munmap(bytes, made.entry().size());
         close(fd);
       }},
      {"socket alone", [&] { echo.Call(); }},
      {"socket", [&] { look_up(connection.get()); }},
      {"socket, whole unit",
       [&] { Get<proto::CompileReply>(connection.get(), FrameType::kCompile, compile); }},
      {"connect and greet", [&] { ASSERT_TRUE(Connection::Open(SocketPath(), kPatience).ok()); }},
      {"gRPC alone", [&] { Ask(bare_stub.get(), request); }},
      {"gRPC", [&] { Ask(stub.get(), request); }},
      {"mutual TLS alone", [&] { Ask(bare_tls_stub.get(), request); }},
      {"mutual TLS", [&] { Ask(tls_stub.get(), request); }},
  });
  figures["mutual TLS of gRPC"] = figures["mutual TLS p50"] / figures["gRPC p50"];
  const auto over_grpc = [&](const std::string& server) {
    return [mine = std::shared_ptr<proto::Kiln::Stub>(Stub(server, plain)), &request] {
      Ask(mine.get(), request);
    };
  };
  Throughput("socket", DaemonPid(), 4, [&] {
    return [mine = std::shared_ptr<Connection>(*Connection::Open(SocketPath(), kPatience)),
            &look_up] { look_up(mine.get()); };
  });
  Throughput("gRPC alone", bare.pid(), 16, [&] { return over_grpc(bare.address()); });
  Throughput("gRPC", DaemonPid(), 16, [&] { return over_grpc(address); });
  figures["resident MB"] = UsageOf(DaemonPid()).resident_mb;
}

TEST_F(ServerBench, Storm) {
  ASSERT_EQ(Start(), 0);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  const absl::Time begin = absl::Now();
  callers.reserve(64);
  for (int i = 0; i < 64; ++i) {
    callers.emplace_back([&] { good += Client().Compile("sleep 300", 1).ok(); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 64);
  figures["storm compilations"] = static_cast<double>(Jobs().size());
  figures["storm ms beyond the compile"] = absl::ToDoubleMilliseconds(absl::Now() - begin) - 300;
}

// All workers and most of the queue are one tenant's when another one's kernel comes.
TEST_F(ServerBench, Fairness) {
  constexpr int kSlowKernels = 64, kSlowMs = 500;
  ASSERT_EQ(Start(), 0);
  const auto of_tenant = [this](const std::string& tenant) {
    TestClient client = *TestClient::Connect(SocketPath(), /*greet=*/false);
    proto::Hello hello;
    hello.set_protocol(kProtocolVersion);
    hello.mutable_caller()->set_name(tenant);
    hello.mutable_caller()->set_tenant(tenant);
    hello.mutable_caller()->set_rights(proto::RIGHT_READ | proto::RIGHT_COMPILE);
    EXPECT_TRUE(client.Call<proto::HelloReply>(FrameType::kHello, hello).ok());
    return client;
  };
  std::vector<std::thread> callers;
  callers.reserve(kSlowKernels);
  for (int i = 0; i < kSlowKernels; ++i) {
    callers.emplace_back([&of_tenant, i] {
      of_tenant("a").Compile(absl::StrCat("sleep ", kSlowMs), i).IgnoreError();
    });
  }
  while (Client().Stats()->waiting() < kSlowKernels - 2) absl::SleepFor(absl::Milliseconds(5));
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(of_tenant("b").Compile("sleep 5", 1000).ok());
  figures["quick kernel behind slow ones"] =
      absl::ToDoubleMilliseconds(absl::Now() - begin) / kSlowMs;
  Stop(SIGKILL);
  for (std::thread& caller : callers) caller.join();
}

TEST_F(ServerBench, ColdStart) {
  ASSERT_TRUE(home_->Create().ok());
  Key key;
  for (int i = 0; i < options.entries; ++i) {
    key = Key(Sha256Of(absl::StrCat(i)));
    const std::string path = home_->EntryPath(PlaceOf(key));
    std::filesystem::create_directory(path.substr(0, path.rfind('/')));
    WriteFile(path, EncodeEntry(key,
                                "\x7f"
                                "ELF",
                                proto::ArtifactInfo()));
  }
  const absl::Time begin = absl::Now();
  ASSERT_EQ(Start(), 0);
  figures["start ms"] = absl::ToDoubleMilliseconds(absl::Now() - begin);
  ASSERT_TRUE(Client().Lookup(std::string(key.view()))->found());
  figures["start to first hit ms"] = absl::ToDoubleMilliseconds(absl::Now() - begin);
  figures["entries"] = options.entries;
  while (Client().Stats()->entries() < static_cast<uint64_t>(options.entries)) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  figures["start to whole index ms"] = absl::ToDoubleMilliseconds(absl::Now() - begin);
  figures["resident MB over the entries"] = UsageOf(DaemonPid()).resident_mb;
}

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    const bool good =
        absl::ConsumePrefix(&arg, "--json=")      ? !(options.json = std::string(arg)).empty()
        : absl::ConsumePrefix(&arg, "--bin=")     ? !(options.bin = std::string(arg)).empty()
        : absl::ConsumePrefix(&arg, "--rounds=")  ? absl::SimpleAtoi(arg, &options.rounds)
        : absl::ConsumePrefix(&arg, "--entries=") ? absl::SimpleAtoi(arg, &options.entries)
                                                  : false;
    if (!good) {
      std::fprintf(stderr, "bad argument %s\n", argv[i]);
      return 2;
    }
  }
  const int failed = RUN_ALL_TESTS();
  std::string json;
  for (const auto& [name, value] : figures) {
    absl::StrAppend(&json, json.empty() ? "{" : ", ", "\"", name, "\": ", value);
    std::printf("%-40s %12.1f\n", name.c_str(), value);
  }
  if (!options.json.empty()) WriteFile(options.json, json + "}\n");
  return failed;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
