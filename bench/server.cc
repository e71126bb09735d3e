// The server's figures: look-ups of a 20 kB entry from a client's disk, over the local
// socket, over gRPC and over mutual TLS, beside the same bytes without a daemon; hits a
// second of the server's processor time; a storm of 64 clients; a start over 100,000
// entries.
//
//   bench/server --json=FILE [--rounds=N] [--entries=N] [--bin=DIR]
//
// bench/server.py runs it, beside ccache and sccache, and makes the table. DIR has kilnd
// and kilnd-grpc.
#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "lang/entry.h"
#include "proto/service.grpc.pb.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

struct Options {
  std::string json, bin;
  int size = 20000;
  int rounds = 5000;
  int entries = 100000;
};
Options options;
std::map<std::string, double> figures;

double Percentile(const std::vector<double>& sorted, double fraction) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(sorted.size() * fraction))];
}

// Microseconds of `call`, after a hundred that do not count.
template <typename Call>
void Measure(const std::string& name, Call call) {
  std::vector<double> micros;
  for (int i = 0; i < options.rounds + 100; ++i) {
    const int64_t begin = absl::GetCurrentTimeNanos();
    call();
    if (i >= 100) micros.push_back(static_cast<double>(absl::GetCurrentTimeNanos() - begin) / 1e3);
  }
  std::sort(micros.begin(), micros.end());
  figures[name + " p50"] = Percentile(micros, 0.5);
  figures[name + " p99"] = Percentile(micros, 0.99);
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

// Processor time of a process and those that it started (the gRPC front).
double CpuSeconds(pid_t pid) {
  double ticks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = ReadFile(entry.path().string() + "/stat");
    const size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    const std::vector<std::string> words = absl::StrSplit(stat.substr(end + 2), ' ');
    const int own = std::atoi(stat.c_str()), parent = std::atoi(words[1].c_str());
    if (own != pid && parent != pid) continue;
    ticks += std::atof(words[11].c_str()) + std::atof(words[12].c_str());
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// gRPC alone: the same messages from a server that does nothing else.
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

class ServerBench : public DaemonTest {
 protected:
  std::unique_ptr<proto::Kiln::Stub> Stub(const std::string& address,
                                          const std::shared_ptr<grpc::ChannelCredentials>& how) {
    auto channel = grpc::CreateChannel(address, how);
    EXPECT_TRUE(
        channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)));
    return proto::Kiln::NewStub(channel);
  }

  static void Ask(proto::Kiln::Stub* stub, const proto::LookupRequest& request) {
    grpc::ClientContext context;
    proto::LookupReply reply;
    const grpc::Status status = stub->Lookup(&context, request, &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_TRUE(reply.results(0).found());
  }

  // Calls by `threads` at once for two seconds, by the daemon's processor time.
  template <typename MakeCall>
  void Throughput(const std::string& name, int threads, MakeCall make) {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> calls{0};
    std::vector<std::thread> callers;
    const double before = CpuSeconds(DaemonPid());
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
    const double cpu = CpuSeconds(DaemonPid()) - before;
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
};

TEST_F(ServerBench, LookUps) {
  const int port = FreePort();
  const std::string address = absl::StrCat("localhost:", port);
  ASSERT_EQ(Start({absl::StrCat("--listen=127.0.0.1:", port), "--bin=" + options.bin}), 0);
  TestClient client = Client();
  const proto::CompileReply made = *client.Compile(absl::StrCat("big ", options.size), 1);
  proto::LookupRequest request;
  request.add_digests(made.digest());
  figures["entry bytes"] = static_cast<double>(made.entry().size());

  const std::string path = EntryPath(made);
  Measure("disk, mapped and checked", [&] {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* bytes = mmap(nullptr, made.entry().size(), PROT_READ, MAP_PRIVATE, fd, 0);
    ASSERT_TRUE(DecodeEntry({static_cast<const char*>(bytes), made.entry().size()}).ok());
    munmap(bytes, made.entry().size());
    close(fd);
  });
  Measure("socket", [&] { ASSERT_TRUE(client.Lookup(made.digest())->found()); });
  Throughput("socket", 4, [&] {
    return [mine = std::make_shared<TestClient>(Client()), &made] {
      ASSERT_TRUE(mine->Lookup(made.digest())->found());
    };
  });

  BareService bare(made.entry());
  grpc::ServerBuilder builder;
  int bare_port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &bare_port);
  builder.RegisterService(&bare);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  auto bare_stub = Stub(absl::StrCat("127.0.0.1:", bare_port), grpc::InsecureChannelCredentials());
  auto stub = Stub(address, grpc::InsecureChannelCredentials());
  Measure("gRPC alone", [&] { Ask(bare_stub.get(), request); });
  Measure("gRPC", [&] { Ask(stub.get(), request); });
  Throughput("gRPC", 16, [&] {
    return [mine = std::shared_ptr<proto::Kiln::Stub>(
                Stub(address, grpc::InsecureChannelCredentials())),
            &request] { Ask(mine.get(), request); };
  });
  server->Shutdown();
}

TEST_F(ServerBench, MutualTls) {
  ASSERT_TRUE(MakeCertificates());
  const int port = FreePort();
  WriteFile(TempPath("conf"),
            absl::StrCat("service { listen: \"127.0.0.1:", port,
                         "\" certificate_file: \"own.pem\" key_file: \"own.key\" client_ca_file: "
                         "\"ca.pem\" }\n"));
  ASSERT_EQ(Start({"--config=" + TempPath("conf"), "--bin=" + options.bin}), 0);
  const proto::CompileReply made = *Client().Compile(absl::StrCat("big ", options.size), 1);
  proto::LookupRequest request;
  request.add_digests(made.digest());
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ReadFile(TempPath("ca.pem"));
  tls.pem_private_key = ReadFile(TempPath("own.key"));
  tls.pem_cert_chain = ReadFile(TempPath("own.pem"));
  auto stub = Stub(absl::StrCat("localhost:", port), grpc::SslCredentials(tls));
  Measure("mutual TLS", [&] { Ask(stub.get(), request); });
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

TEST_F(ServerBench, ColdStart) {
  ASSERT_TRUE(home_->Create().ok());
  Digest key;
  for (int i = 0; i < options.entries; ++i) {
    key = Sha256Of(absl::StrCat(i));
    const std::string path = home_->EntryPath(key);
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
  const std::string status = ReadFile(absl::StrCat("/proc/", DaemonPid(), "/status"));
  double kilobytes = 0;
  std::sscanf(status.c_str() + status.find("VmRSS:"), "VmRSS: %lf", &kilobytes);
  figures["resident MB over the entries"] = kilobytes / 1024;
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
