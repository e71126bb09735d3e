// Look-up of a cached entry over the daemon's local socket: microseconds a round
// trip at one caller, and the daemon's memory.
//
//   bench/lookup [--json=FILE] [--size=BYTES] [--rounds=N]
//
// Starts a daemon in a home of its own. Budgets: p50 ≤ 60 µs for 20 kB, resident
// memory ≤ 40 MB.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

struct Options {
  std::string json;
  int size = 20000;
  int rounds = 20000;
};
Options options;

double Percentile(std::vector<double> sorted, double fraction) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(sorted.size() * fraction))];
}

double ResidentMegabytes(pid_t pid) {
  const std::string status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  double kilobytes = 0;
  std::sscanf(status.c_str() + status.find("VmRSS:"), "VmRSS: %lf", &kilobytes);
  return kilobytes / 1024;
}

// The roof: a peer that reads eight bytes and writes as many as an entry has.
class BarePeer {
 public:
  explicit BarePeer(size_t size) : reply_(size, 'x') {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds_) != 0) std::abort();
    thread_ = std::thread([this] {
      char request[8];
      while (recv(fds_[1], request, sizeof request, MSG_WAITALL) == sizeof request) {
        if (send(fds_[1], reply_.data(), reply_.size(), 0) < 0) return;
      }
    });
  }
  ~BarePeer() {
    shutdown(fds_[0], SHUT_RDWR);
    thread_.join();
    close(fds_[0]);
    close(fds_[1]);
  }
  bool RoundTrip() {
    std::string reply(reply_.size(), 0);
    return send(fds_[0], "12345678", 8, 0) == 8 &&
           recv(fds_[0], reply.data(), reply.size(), MSG_WAITALL) ==
               static_cast<ssize_t>(reply.size());
  }

 private:
  int fds_[2];
  std::string reply_;
  std::thread thread_;
};

class LookupBench : public DaemonTest {
 protected:
  // Sorted microseconds of `call`.
  template <typename Call>
  static std::vector<double> Measure(Call call) {
    std::vector<double> micros;
    for (int i = 0; i < options.rounds + 100; ++i) {
      const int64_t begin = absl::GetCurrentTimeNanos();
      call();
      if (i >= 100) micros.push_back((absl::GetCurrentTimeNanos() - begin) / 1e3);
    }
    std::sort(micros.begin(), micros.end());
    return micros;
  }
};

TEST_F(LookupBench, LookUp) {
  ASSERT_EQ(Start(), 0);
  const double idle_megabytes = ResidentMegabytes(DaemonPid());
  TestClient client = Client();
  const proto::CompileReply made = *client.Compile(absl::StrCat("big ", options.size), 1);
  const proto::CompileRequest request = RequestFor("x", 1);
  const std::vector<double> lookup =
      Measure([&] { ASSERT_TRUE(client.Lookup(made.digest())->found()); });
  const std::vector<double> compile = Measure([&] {
    ASSERT_EQ(client.Call<proto::CompileReply>(FrameType::kCompile, request)->tier(), "memory");
  });
  const std::vector<double> connect =
      Measure([&] { ASSERT_TRUE(TestClient::Connect(SocketPath()).ok()); });
  BarePeer peer(made.entry().size());
  const std::vector<double> bare = Measure([&] { ASSERT_TRUE(peer.RoundTrip()); });
  const double megabytes = ResidentMegabytes(DaemonPid());

  std::printf("%-34s %9s %9s\n", "", "p50 µs", "p99 µs");
  std::string json = absl::StrCat("{\"entry_bytes\": ", made.entry().size());
  const auto row = [&](const char* name, const char* key, const std::vector<double>& micros) {
    const double p50 = Percentile(micros, 0.5), p99 = Percentile(micros, 0.99);
    std::printf("%-34s %9.1f %9.1f\n", name, p50, p99);
    absl::StrAppend(&json, ", \"", key, "_p50_us\": ", p50, ", \"", key, "_p99_us\": ", p99);
  };
  row("Lookup, memory tier (budget 60)", "lookup", lookup);
  row("Compile that hits", "compile_hit", compile);
  row("connect + Hello", "connect", connect);
  row("roof: the bytes alone, no daemon", "bare", bare);
  std::printf("%-34s %9.1f %9.1f\n", "daemon MB, idle / after (budget 40)", idle_megabytes,
              megabytes);
  absl::StrAppend(&json, ", \"resident_idle_mb\": ", idle_megabytes,
                  ", \"resident_mb\": ", megabytes, "}\n");
  if (!options.json.empty()) WriteFile(options.json, json);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--json=")) {
      kiln::options.json = std::string(arg);
    } else if (!(absl::ConsumePrefix(&arg, "--size=") &&
                 absl::SimpleAtoi(arg, &kiln::options.size)) &&
               !(absl::ConsumePrefix(&arg, "--rounds=") &&
                 absl::SimpleAtoi(arg, &kiln::options.rounds))) {
      std::fprintf(stderr, "bad argument %s\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
