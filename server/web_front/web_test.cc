// kilnd-web end to end: kilnd, its web front, a test worker.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "server/observe/metrics.h"
#include "server/web_front/history.h"
#include "server/web_front/peer.h"
#include "server/web_front/prometheus.h"
#include "server/web_front/visitors.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

struct Reply {
  int status = 0;
  std::string head, body;
};

class WebTest : public DaemonTest {
 protected:
  void Begin(const std::string& host = "127.0.0.1") {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    close(fd);
    port_ = ntohs(address.sin_port);
    const std::string kilnd = KilndPath();
    ASSERT_EQ(Start({absl::StrCat("--web=", host, ":", port_), "--allow-root",
                     "--bin=" + kilnd.substr(0, kilnd.rfind("/daemon/")) + "/web_front"}),
              0);
    for (int i = 0; i < 2000 && Ask("GET", "/healthz").status != 200; ++i) {
      absl::SleepFor(absl::Milliseconds(5));
    }
  }

  // `from` is the connection's own address, any of 127.0.0.0/8.
  int Connect(uint32_t from = INADDR_LOOPBACK) const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(from);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }

  Reply Ask(const std::string& method, const std::string& path, const std::string& headers = "",
            const std::string& host = "127.0.0.1") {
    Reply reply;
    const int fd = Connect();
    if (fd >= 0) {
      const std::string text = absl::StrCat(
          method, " ", path, " HTTP/1.1\r\nHost: ", host, ":", port_, "\r\nConnection: close\r\n",
          method == "POST" ? "Content-Length: 0\r\n" : "", headers, "\r\n");
      // Sending fails if the server has just exited; then reading returns nothing.
      send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      std::string all;
      char buffer[8192];
      ssize_t n;
      while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) all.append(buffer, n);
      const size_t split = all.find("\r\n\r\n");
      if (split != std::string::npos) {
        reply.head = all.substr(0, split);
        reply.body = all.substr(split + 4);
        (void)absl::SimpleAtoi(all.substr(9, 3), &reply.status);
      }
      close(fd);
    }
    return reply;
  }

  // The header that states the dashboard's secret.
  std::string Secret() const {
    const std::string address = ReadFile(home_->DashboardPath());
    return absl::StrCat("X-Kiln: ", absl::StripSuffix(address.substr(address.rfind('#') + 1), "\n"),
                        "\r\n");
  }

  // Samples of the text format by their name and labels.
  std::map<std::string, double> Samples() {
    std::map<std::string, double> samples;
    for (absl::string_view line : absl::StrSplit(Ask("GET", "/metrics").body, '\n')) {
      const size_t space = line.rfind(' ');
      double value = 0;
      if (line.empty() || line[0] == '#') continue;
      EXPECT_TRUE(absl::SimpleAtod(line.substr(space + 1), &value)) << line;
      samples[std::string(line.substr(0, space))] = value;
    }
    return samples;
  }

  int port_ = 0;
};

TEST_F(WebTest, MetricsCountRequests) {
  Begin();
  TestClient client = Client();
  ASSERT_TRUE(client.Compile("x", 1).ok());
  ASSERT_TRUE(client.Compile("x", 1).ok());
  ASSERT_TRUE(client.Compile("x", 2).ok());
  ASSERT_TRUE(client.Compile("error", 3).ok());
  EXPECT_FALSE(client.Compile("fail", 4).ok());
  EXPECT_FALSE(client.Compile("die", 5).ok());
  const std::map<std::string, double> samples = Samples();
  const std::map<std::string, double> expected = {
      {"kiln_cache_hits_total{tier=\"memory\"}", 1},
      {"kiln_cache_misses_total{reason=\"new\"}", 1},
      {"kiln_cache_misses_total{reason=\"target\"}", 1},
      {"kiln_compiles_total{outcome=\"artifact\"}", 2},
      {"kiln_compiles_total{outcome=\"diagnostics\"}", 1},
      {"kiln_compiles_total{outcome=\"error\"}", 2},
      {"kiln_compile_seconds_count", 3},
      {"kiln_requests_total{type=\"compile\"}", 6},
      {"kiln_request_seconds_count{type=\"compile\"}", 6},
      {"kiln_request_seconds_bucket{type=\"compile\",le=\"+Inf\"}", 6},
      {"kiln_request_errors_total{code=\"INTERNAL\"}", 2},
      {"kiln_worker_deaths_total", 2},
      {"kiln_cache_entries{tier=\"disk\"}", 2},
      {"kiln_queue_jobs", 0},
      {"kiln_build_info{version=\"0.1.0\"}", 1},
  };
  for (const auto& [name, value] : expected) {
    const auto found = samples.find(name);
    ASSERT_NE(found, samples.end()) << name;
    EXPECT_EQ(found->second, value) << name;
  }
  EXPECT_GE(samples.at("kiln_queue_seconds_count"), 5);
  EXPECT_GT(samples.at("kiln_resident_bytes"), 1e6);
  EXPECT_GE(samples.at("kiln_clients"), 1);
}

TEST_F(WebTest, HealthAndReadiness) {
  Begin();
  EXPECT_EQ(Ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  EXPECT_EQ(Ask("HEAD", "/healthz").body, "");
  EXPECT_EQ(Ask("DELETE", "/healthz").status, 405);
  EXPECT_EQ(Ask("GET", "/nothing").status, 404);
}

TEST_F(WebTest, ADaemonThatCannotCompileIsNotReady) {
  worker_ = "/nonexistent/worker";
  Begin();
  const Reply reply = Ask("GET", "/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(absl::StrContains(reply.body, "/nonexistent/worker")) << reply.body;
}

TEST_F(WebTest, TheDashboardIsOnePageWithoutExternalAssets) {
  Begin();
  const Reply page = Ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(absl::StrContains(page.head, "Content-Security-Policy: default-src 'none'"));
  for (const char* outside : {"src=\"http", "href=\"http", "url(http", "@import"}) {
    EXPECT_FALSE(absl::StrContains(page.body, outside)) << outside;
  }
}

TEST_F(WebTest, OverviewAndKernelPageData) {
  Begin();
  TestClient client = Client();
  const absl::StatusOr<proto::CompileReply> made = client.Compile("x <script>", 1);
  ASSERT_TRUE(made.ok());
  const std::string overview = Ask("GET", "/api/overview", Secret()).body;
  EXPECT_TRUE(absl::StrContains(overview, "\"kernel\":\"x \\u003cscript>\"")) << overview;
  EXPECT_TRUE(absl::StrContains(overview, "\"outcome\":\"compiled\""));
  EXPECT_TRUE(absl::StrContains(overview, absl::StrCat("\"name\":\"pid ", getpid(), "\"")));
  const std::string key = Digest::FromBytes(made->digest())->Hex();
  const std::string kernel = Ask("GET", "/api/kernel?key=" + key, Secret()).body;
  EXPECT_TRUE(absl::StrContains(kernel, "\"name\":\"target\"")) << kernel;
  EXPECT_TRUE(absl::StrContains(kernel, "\"can_show_ir\":true"));
  // Only the dashboard's own page may compile again, which the worker records.
  const size_t jobs = Jobs().size();
  EXPECT_EQ(Ask("GET", "/api/stages?key=" + key, Secret()).status, 403);
  EXPECT_EQ(Ask("POST", "/api/stages?key=" + key).status, 403);
  EXPECT_EQ(Jobs().size(), jobs);
  EXPECT_EQ(Ask("POST", "/api/stages?key=" + key, Secret()).status, 200);
  EXPECT_EQ(Jobs().size(), jobs + 1);
  EXPECT_EQ(Ask("GET", "/api/kernel?key=" + std::string(64, '0'), Secret()).status, 404);
  EXPECT_EQ(Ask("GET", "/api/kernel?key=zz", Secret()).status, 400);
}

TEST_F(WebTest, OtherSitesAndOtherAddressesGetMetricsOnly) {
  Begin();
  // A page of evil.example, whose name resolves to this machine.
  EXPECT_EQ(Ask("GET", "/", "", "evil.example").status, 403);
  EXPECT_EQ(Ask("GET", "/api/overview", Secret(), "evil.example").status, 404);
  EXPECT_EQ(Ask("GET", "/metrics", "", "evil.example").status, 200);
  Stop();
  Begin("0.0.0.0");
  EXPECT_EQ(Ask("GET", "/").status, 403);
  EXPECT_EQ(Ask("GET", "/api/overview", Secret()).status, 404);
  EXPECT_EQ(Ask("GET", "/metrics").status, 200);
}

TEST_F(WebTest, TheDashboardsDataNeedsItsSecret) {
  Begin();
  struct stat info;
  ASSERT_EQ(stat(home_->DashboardPath().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const std::string secret = Secret();
  EXPECT_EQ(secret.size(), std::string("X-Kiln: \r\n").size() + 32);
  EXPECT_EQ(Ask("GET", "/api/overview", secret).status, 200);
  for (const char* wrong :
       {"", "X-Kiln: 1\r\n", "X-Kiln: \r\n", "X-Kiln: 00000000000000000000000000000000\r\n"}) {
    EXPECT_EQ(Ask("GET", "/api/overview", wrong).status, 403) << wrong;
  }
  // An open page continues to work after a restart of the daemon.
  Stop();
  Begin();
  EXPECT_EQ(Secret(), secret);
}

TEST_F(WebTest, ReplacesASecretThatOthersMayHaveRead) {
  Begin();
  const std::string secret = Secret();
  Stop();
  ASSERT_EQ(chmod(home_->DashboardPath().c_str(), 0644), 0);
  Begin();
  EXPECT_NE(Secret(), secret);
  EXPECT_EQ(Ask("GET", "/api/overview", secret).status, 403);
}

// More connections than the front accepts, each with a request that never ends.
TEST_F(WebTest, AnswersProbesDespiteIncompleteRequests) {
  Begin();
  // The attacker has a different address. From the probe's address, a flood of newer connections
  // may close the probe's before its thread reads the request.
  const auto begin_half = [this] {
    const int fd = Connect(INADDR_LOOPBACK + 1);
    const std::string half = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
    send(fd, half.data(), half.size(), MSG_NOSIGNAL);
    return fd;
  };
  std::vector<int> held;
  for (int i = 0; i < 100; ++i) held.push_back(begin_half());
  std::atomic<bool> over{false};
  std::thread attacker([&] {  // continues each request, and replaces closed connections
    while (!over) {
      for (int& fd : held) {
        char byte;
        send(fd, "A: b\r\n", 6, MSG_NOSIGNAL);
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET) {
          close(fd);
          fd = begin_half();
        }
      }
      absl::SleepFor(absl::Milliseconds(200));
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Ask("GET", "/healthz").status, 200) << i;
    EXPECT_EQ(Ask("GET", "/readyz").status, 200) << i;
    EXPECT_EQ(Ask("GET", "/metrics").status, 200) << i;
    absl::SleepFor(absl::Milliseconds(50));
  }
  over = true;
  attacker.join();
  for (const int fd : held) close(fd);
}

TEST_F(WebTest, DisconnectsSlowRequests) {
  Begin();
  const int fd = Connect();
  const std::string begin = "GET /healthz HTTP/1.1\r\n";
  ASSERT_GT(send(fd, begin.data(), begin.size(), MSG_NOSIGNAL), 0);
  const absl::Time start = absl::Now();
  char byte;
  // A line each second must not restart the time limit.
  while (absl::Now() - start < absl::Seconds(30)) {
    send(fd, "A: b\r\n", 6, MSG_NOSIGNAL);
    if (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN) break;
    absl::SleepFor(absl::Seconds(1));
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  close(fd);
}

TEST_F(WebTest, ADaemonThatIsStoppedIsSoonNotReady) {
  Begin();
  const pid_t daemon = DaemonPid();
  ASSERT_EQ(kill(daemon, SIGSTOP), 0);
  const absl::Time start = absl::Now();
  std::vector<std::thread> others;  // waiting for kilnd, they delay no probe
  for (int i = 0; i < 8; ++i) others.emplace_back([this] { Ask("GET", "/metrics"); });
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  const Reply reply = Ask("GET", "/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(absl::StrContains(reply.body, "kilnd does not answer")) << reply.body;
  EXPECT_LT(absl::Now() - start, absl::Seconds(4));
  kill(daemon, SIGCONT);
  for (std::thread& other : others) other.join();
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
}

TEST_F(WebTest, EndsWithTheDaemon) {
  Begin();
  Stop(SIGKILL);
  int status = 200;
  for (int i = 0; i < 1000 && status != 0; ++i) {
    status = Ask("GET", "/healthz").status;
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(status, 0);
}

TEST_F(WebTest, WatchingDoesNotKeepADaemonRunning) {
  const std::string kilnd = KilndPath();
  ASSERT_EQ(Start({"--web=127.0.0.1:0", "--idle-exit=1",
                   "--bin=" + kilnd.substr(0, kilnd.rfind("/daemon/")) + "/web_front"}),
            0);
  EXPECT_TRUE(AwaitEnd(DaemonPid()));
}

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";

TEST_F(WebTest, ATraceReachesTheWorkerAndTheLog) {
  WriteFile(TempPath("conf"), "log { json: true }\n");
  ASSERT_EQ(Start({"--config=" + TempPath("conf")}), 0);
  TestClient client = Client();
  proto::CompileRequest request = RequestFor("trace", 1);
  request.set_traceparent(absl::StrCat("00-", kTrace, "-00f067aa0ba902b7-01"));
  request.mutable_source_map()->add_files("secret/place.py");
  request.mutable_source_map()->add_spans()->set_line(7);
  const auto reply = client.Call<proto::CompileReply>(FrameType::kCompile, request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const std::string seen = DecodeEntry(reply->entry())->payload.substr(0, 55).data();
  EXPECT_TRUE(absl::StartsWith(seen, absl::StrCat("00-", kTrace, "-"))) << seen;
  EXPECT_FALSE(absl::StrContains(seen, "00f067aa0ba902b7"));  // a span of its own

  const auto recent = client.Call<proto::RecentReply>(FrameType::kRecent, proto::RecentRequest());
  EXPECT_EQ(recent->requests(0).trace(), kTrace);
  std::string line;
  for (absl::string_view each : absl::StrSplit(LogText(), '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(each, "{\"time\":\"") && absl::EndsWith(each, "}")) << each;
    if (absl::StrContains(each, "\"event\":\"compile\"")) line = std::string(each);
  }
  EXPECT_TRUE(absl::StrContains(line, absl::StrCat("\"trace\":\"", kTrace, "\""))) << line;
  EXPECT_TRUE(absl::StrContains(line, "\"parent\":\"00f067aa0ba902b7\"")) << line;
  EXPECT_FALSE(absl::StrContains(LogText(), "secret"));
}

TEST_F(WebTest, TheLogNamesSourcesIfConfigured) {
  WriteFile(TempPath("conf"), "log { json: true sources: true }\n");
  ASSERT_EQ(Start({"--config=" + TempPath("conf")}), 0);
  proto::CompileRequest request = RequestFor("x", 1);
  request.mutable_source_map()->add_files("some/place.py");
  request.mutable_source_map()->add_spans()->set_line(7);
  ASSERT_TRUE(Client().Call<proto::CompileReply>(FrameType::kCompile, request).ok());
  EXPECT_TRUE(absl::StrContains(LogText(), "\"source\":\"some/place.py:7\"")) << LogText();
}

TEST_F(WebTest, FallbacksOfClientsAreCounted) {
  Begin();
  const std::string mark(32, '\xff');
  WriteFile(home_->HitLogPath(), mark + mark);
  EXPECT_EQ(Samples().at("kiln_fallbacks_total"), 2);
}

TEST(Prometheus, WritesTheTextFormat) {
  proto::MetricsReply metrics;
  proto::MetricFamily* family = metrics.add_families();
  family->set_name("a_total");
  family->set_help("two\nlines \\");
  proto::MetricSample* sample = family->add_samples();
  (*sample->mutable_labels())["x"] = "q\"\\\n";
  sample->set_value(12345678901);
  family = metrics.add_families();
  family->set_name("h");
  family->set_kind(proto::MetricFamily::HISTOGRAM);
  sample = family->add_samples();
  sample->add_bounds(0.005);
  sample->add_buckets(1);
  sample->set_count(2);
  sample->set_value(0.5);
  EXPECT_EQ(PrometheusText(metrics),
            "# HELP a_total two\\nlines \\\\\n# TYPE a_total counter\n"
            "a_total{x=\"q\\\"\\\\\\n\"} 12345678901\n"
            "# HELP h \n# TYPE h histogram\nh_bucket{le=\"0.005\"} 1\nh_bucket{le=\"+Inf\"} 2\n"
            "h_sum 0.5\nh_count 2\n");
}

TEST(History, StepsAreDifferencesEvenAcrossARestart) {
  const auto collect = [](int lookups, double started, double hits) {
    Metrics metrics;
    metrics.gauge("kiln_start_time_seconds")->Set(started);
    metrics.counter("kiln_cache_hits_total", "memory")->SetElsewhere(hits);
    for (int i = 0; i < lookups; ++i) {
      metrics.counter("kiln_requests_total", "lookup")->Add();
      metrics.histogram("kiln_request_seconds", "lookup")->Observe(absl::Microseconds(20));
    }
    return metrics.Collect();
  };
  History history;
  const absl::Time start = absl::FromUnixSeconds(1000000);
  history.Add(start, collect(10, 1, 10));
  history.Add(start + absl::Seconds(2), collect(13, 1, 13));
  history.Add(start + absl::Seconds(4), collect(2, 2, 15));
  const std::string json = history.Json(/*coarse=*/false);
  EXPECT_TRUE(absl::StartsWith(
      json,
      "[{\"t\":1000002,\"seconds\":2,\"requests\":3,\"hits\":3,\"misses\":0,\"p50\":1.75e-05"))
      << json;
  EXPECT_TRUE(absl::StrContains(json, "\"requests\":2,\"hits\":2")) << json;
  EXPECT_EQ(history.Json(/*coarse=*/true), "[]");
}

constexpr char kPeerEnd[] = "0100007F:B813", kOwnEnd[] = "0200007F:126A";

// A row of /proc/net/tcp.
std::string Row(const std::string& from, const std::string& to, const std::string& state,
                const std::string& uid, const std::string& inode) {
  return absl::StrCat("   3: ", from, " ", to, " ", state,
                      " 00000000:00000000 03:00000B3C 00000000 ", uid, " 0 ", inode,
                      " 1 0000000000000000 20 4 0 10 -1\n");
}

TEST(Peer, FindsTheProcessOfAnEstablishedConnection) {
  EXPECT_TRUE(IsHeldBy(Row(kPeerEnd, kOwnEnd, "01", "1000", "77"), kPeerEnd, kOwnEnd, 1000));
  EXPECT_TRUE(IsHeldBy(Row(kPeerEnd, kOwnEnd, "01", "0", "77"), kPeerEnd, kOwnEnd, 1000));
  EXPECT_FALSE(IsHeldBy(Row(kPeerEnd, kOwnEnd, "01", "1001", "77"), kPeerEnd, kOwnEnd, 1000));
  EXPECT_FALSE(IsHeldBy(Row(kOwnEnd, kPeerEnd, "01", "1000", "77"), kPeerEnd, kOwnEnd, 1000));
}

TEST(Peer, AnUnownedConnectionIsNotRoots) {
  // TIME_WAIT, SYN_RECV and connections that their process has closed.
  for (const char* state : {"06", "03", "04", "05"}) {
    EXPECT_FALSE(IsHeldBy(Row(kPeerEnd, kOwnEnd, state, "0", "0"), kPeerEnd, kOwnEnd, 1000));
  }
  EXPECT_FALSE(IsHeldBy(Row(kPeerEnd, kOwnEnd, "01", "0", "0"), kPeerEnd, kOwnEnd, 1000));
  // The same ports, another of this machine's addresses.
  const std::string other = "0300007F:126A";
  EXPECT_FALSE(IsHeldBy(Row(kPeerEnd, other, "01", "0", "77"), kPeerEnd, kOwnEnd, 1000));
  EXPECT_FALSE(IsHeldBy("  sl  local_address rem_address   st", kPeerEnd, kOwnEnd, 1000));
}

TEST(Visitors, TheOldestIdleVisitorMakesRoom) {
  sockaddr_in peer = {};
  peer.sin_family = AF_INET;
  Visitors visitors({/*connections=*/4, /*of_one_address=*/2, absl::Seconds(5), absl::Seconds(30)});
  std::vector<std::array<int, 2>> pairs(6);
  const absl::Time start = SteadyNow();
  const auto come = [&](size_t i, uint32_t address) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i].data()), 0);
    peer.sin_addr.s_addr = htonl(address);
    visitors.Came(pairs[i][0], reinterpret_cast<sockaddr*>(&peer), start + absl::Seconds(i));
  };
  const auto is_open = [&](size_t i) {
    char byte;
    return recv(pairs[i][1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  };
  come(0, 1);
  visitors.Asked(pairs[0][0]);  // its request is in progress
  come(1, 1);
  come(2, 1);
  EXPECT_TRUE(is_open(0));
  EXPECT_FALSE(is_open(1)) << "one address had too many";
  EXPECT_TRUE(is_open(2));
  come(3, 2);
  come(4, 3);
  come(5, 4);
  EXPECT_FALSE(is_open(2)) << "there were too many in all";
  EXPECT_TRUE(is_open(3) && is_open(4) && is_open(5));
  EXPECT_EQ(visitors.busy(), 1u);
  visitors.HangUpOnSlow(start + absl::Seconds(9));
  EXPECT_FALSE(is_open(3));
  EXPECT_TRUE(is_open(4) && is_open(5));
  visitors.HangUpOnSlow(start + absl::Minutes(2));
  EXPECT_TRUE(is_open(0)) << "kilnd's time is not the peer's";
  for (const auto& pair : pairs) {
    visitors.Left(pair[0]);
    close(pair[0]);
    close(pair[1]);
  }
}

TEST(Peer, LoopbackNames) {
  for (const char* good : {"127.0.0.1:80", "localhost:1", "[::1]:80", "127.1.2.3:80"}) {
    EXPECT_TRUE(IsLoopbackHost(good)) << good;
  }
  for (const char* bad : {"evil.example:80", "127.0.0.1.evil.example:80", "", "10.0.0.1:80"}) {
    EXPECT_FALSE(IsLoopbackHost(bad)) << bad;
  }
}

}  // namespace
}  // namespace kiln
