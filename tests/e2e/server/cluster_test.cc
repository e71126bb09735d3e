// Several kilnds that share a Redis: all find each other's entries, the cluster compiles a key
// once, and no failure of Redis fails or delays a request. The workers' log counts compilations.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/artifact/signature.h"
#include "tests/e2e/server/cluster_fixture.h"
#include "tests/e2e/server/test_certificates.h"

namespace kiln {
namespace {

class RedisTest : public ClusterTest {
 protected:
  void SetUp() override {
    if (!RedisServer::Installed()) GTEST_SKIP() << "there is no redis-server here";
  }
  // Client `i` of `clients` requests the same key from kilnd `i % kilnds`. Returns how many got it.
  int Storm(int clients, int kilnds, const std::string& name, uint64_t seed) {
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    threads.reserve(clients);
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&, i] {
        absl::StatusOr<proto::CompileReply> reply = Client(i % kilnds).Compile(name, seed);
        EXPECT_TRUE(reply.ok()) << reply.status();
        good += reply.ok() && !reply->entry().empty();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return good;
  }
  // A sample's value, for a histogram its count; -1 if there is none.
  double Metric(int kilnd, const std::string& name, const std::string& label = "") const {
    auto reply =
        Client(kilnd).Call<proto::MetricsReply>(FrameType::kMetrics, proto::MetricsRequest());
    EXPECT_TRUE(reply.ok()) << reply.status();
    for (const proto::MetricFamily& family : reply->families()) {
      if (family.name() != name) continue;
      for (const proto::MetricSample& sample : family.samples()) {
        if (!label.empty() && sample.labels().begin()->second != label) continue;
        return family.kind() == proto::MetricFamily::HISTOGRAM ? sample.count() : sample.value();
      }
    }
    return -1;
  }
  bool Stored() const { return redis_->Command({"DBSIZE"}) != ":0\r\n"; }
};

TEST_F(RedisTest, OtherMachinesFindCompiledEntries) {
  redis_->Start();
  StartKilnds(2, RedisConfig("prefix: \"team\" ttl_seconds: 100"));
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->tier(), "compiled");
  const std::string key = absl::StrCat("team:2:e:{", Digest::FromBytes(made->digest())->Hex(), "}");
  ASSERT_TRUE(Eventually([&] { return redis_->Command({"EXISTS", key}) == ":1\r\n"; }));

  // By key alone, then whole; then from this home's own memory.
  auto found = Client(1).Lookup(made->digest());
  ASSERT_TRUE(found.ok() && found->found());
  EXPECT_EQ(found->tier(), "redis");
  EXPECT_EQ(found->entry(), made->entry());
  EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "memory");
  EXPECT_TRUE(Eventually(
      [&] { return !ReadFile(homes_[1]->EntryPath(*Place::FromBytes(made->digest()))).empty(); }));
  EXPECT_EQ(Client(1).Stats()->hits_by_tier().at("redis"), 1u);
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(RedisTest, PresenceIncludesOtherMachinesEntries) {
  redis_->Start();
  StartKilnds(2, RedisConfig());
  proto::LookupRequest request;
  request.set_presence(true);
  for (uint64_t seed = 0; seed < 70; ++seed) {  // more than one request contains
    absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", seed);
    ASSERT_TRUE(made.ok()) << made.status();
    request.add_digests(made->digest());
    request.add_digests(Sha256Of(absl::StrCat("nothing ", seed)).view().data(), 32);
  }
  ASSERT_TRUE(Eventually([&] { return redis_->Command({"DBSIZE"}) == ":70\r\n"; }));
  auto found = Client(1).Call<proto::LookupReply>(FrameType::kLookup, request);
  ASSERT_TRUE(found.ok()) << found.status();
  for (int i = 0; i < found->results_size(); ++i) {
    EXPECT_EQ(found->results(i).found(), i % 2 == 0) << i;
    EXPECT_EQ(found->results(i).entry(), "");
  }
  // The entries are now in this home.
  redis_->Kill();
  EXPECT_TRUE(Client(1).Lookup(request.digests(0))->found());
}

TEST_F(RedisTest, AHitRenewsTheTimeToLive) {
  redis_->Start();
  StartKilnds(2, RedisConfig("ttl_seconds: 1000"));
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", 1);
  const std::string key = absl::StrCat("kiln:2:e:{", Digest::FromBytes(made->digest())->Hex(), "}");
  ASSERT_TRUE(Eventually([&] { return redis_->Command({"EXPIRE", key, "50"}) == ":1\r\n"; }));
  EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "redis");
  EXPECT_EQ(redis_->Command({"TTL", key}), ":1000\r\n");
}

TEST_F(RedisTest, LargeEntriesGoInChunks) {
  redis_->Start();
  StartKilnds(3, RedisConfig());
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("big 3000000", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  // Six chunks and what names them; the lease is gone.
  ASSERT_TRUE(Eventually([&] { return redis_->Command({"DBSIZE"}) == ":7\r\n"; }));
  absl::StatusOr<proto::CompileReply> found = Client(1).Compile("big 3000000", 1);
  EXPECT_EQ(found->tier(), "redis");
  EXPECT_EQ(found->entry(), made->entry());

  // An entry with a dropped chunk is a miss, and is stored again.
  const std::string all = redis_->Command({"KEYS", "kiln:2:c:*:3"});
  const std::vector<std::string> lines = absl::StrSplit(all, "\r\n");
  ASSERT_GE(lines.size(), 3u) << all;
  ASSERT_EQ(redis_->Command({"DEL", lines[2]}), ":1\r\n");
  EXPECT_EQ(Client(2).Compile("big 3000000", 1)->tier(), "compiled");
  EXPECT_EQ(Jobs().size(), 2u);
}

TEST_F(RedisTest, DamagedValuesAreMisses) {
  redis_->Start();
  StartKilnds(2, RedisConfig());
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", 1);
  const std::string key = absl::StrCat("kiln:2:e:{", Digest::FromBytes(made->digest())->Hex(), "}");
  ASSERT_TRUE(Eventually([&] { return redis_->Command({"EXISTS", key}) == ":1\r\n"; }));
  for (const char* value : {"E", "Egarbage", "C", "C1 2", "C600000 2 x", "Z", "C-1 -1 "}) {
    redis_->Command({"SET", key, value});
    EXPECT_FALSE(Client(1).Lookup(made->digest())->found()) << value;
  }
  redis_->Command({"DEL", key});
  redis_->Command({"LPUSH", key, "a list"});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Client(1).Lookup(made->digest())->found());
  EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "compiled");
  // Redis itself works.
  EXPECT_FALSE(absl::StrContains(LogText(1), "is not used for now")) << LogText(1);
}

TEST_F(RedisTest, AFullRedisIsStillRead) {
  redis_->Start();
  StartKilnds(2, RedisConfig());
  const absl::StatusOr<proto::CompileReply> made = Client(1).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string key = absl::StrCat("kiln:2:e:{", Digest::FromBytes(made->digest())->Hex(), "}");
  ASSERT_TRUE(Eventually([&] { return redis_->Command({"EXISTS", key}) == ":1\r\n"; }));
  ASSERT_EQ(redis_->Command({"CONFIG", "SET", "maxmemory", "1"}), "+OK\r\n");
  for (int i = 2; i < 8; ++i) EXPECT_EQ(Client(0).Compile("x", i)->tier(), "compiled");
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(LogText(0), "takes no more for now"); }))
      << LogText(0);
  EXPECT_EQ(Client(0).Compile("x", 1)->tier(), "redis");
  EXPECT_FALSE(absl::StrContains(LogText(0), "is not used for now")) << LogText(0);
}

TEST_F(RedisTest, SixtyFourClientsOfFourMachinesOneCompile) {
  redis_->Start();
  StartKilnds(4, RedisConfig());
  EXPECT_EQ(Storm(64, 4, "sleep 500", 1), 64);
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(RedisTest, ManyKeysAreEachCompiledOnce) {
  redis_->Start();
  StartKilnds(4, RedisConfig());
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      TestClient client = Client(i % 4);
      for (int j = 0; j < 10; ++j) {
        EXPECT_TRUE(client.Compile("sleep 20", (i / 4 + j) % 10).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Jobs().size(), 10u);
}

TEST_F(RedisTest, AKilledHoldersKeyIsCompiledOnceMore) {
  redis_->Start();
  StartKilnds(4, RedisConfig("lease_ms: 1000"));
  // The first client takes the lease before the others start.
  std::thread holder([&] { Client(0).Compile("sleep 3000", 1).IgnoreError(); });
  AwaitJobs(1);
  std::atomic<int> good{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 48; ++i) {
    waiters.emplace_back([&, i] { good += Client(1 + i % 3).Compile("sleep 3000", 1).ok(); });
  }
  absl::SleepFor(absl::Milliseconds(300));
  const absl::Time killed = absl::Now();
  kill(Pid(0), SIGKILL);
  holder.join();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(good, 48);
  EXPECT_EQ(Jobs().size(), 2u);
  // The duration of the lease, a compilation, and polling.
  std::printf("after the kill: %s\n", absl::FormatDuration(absl::Now() - killed).c_str());
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1 + 3 + 2));
}

TEST_F(RedisTest, ADisconnectedHolderLosesItsLeaseInTime) {
  redis_->Start();
  StartKilnds(2, RedisConfig("lease_ms: 600"));
  std::thread holder([&] { EXPECT_TRUE(Client(0).Compile("sleep 4000", 1).ok()); });
  AwaitJobs(1);
  // A stopped kilnd-remote cannot renew its lease, so the other machine takes over.
  ASSERT_EQ(RunProgram({"/usr/bin/pkill", "-STOP", "-P", absl::StrCat(Pid(0)), "kilnd-remote"}), 0);
  const absl::Time start = absl::Now();
  EXPECT_TRUE(Client(1).Compile("sleep 4000", 1).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(7));
  EXPECT_EQ(Jobs().size(), 2u);
  holder.join();
}

TEST_F(RedisTest, ReleasesUnusedLeases) {
  redis_->Start();
  StartKilnds(2, RedisConfig("lease_ms: 60000"));
  // A client that disconnects, and a wrong program.
  EXPECT_TRUE(absl::IsDeadlineExceeded(Client(0).Compile("sleep 20000", 1, 300).status()));
  EXPECT_TRUE(Client(0).Compile("error", 2)->entry().empty());
  EXPECT_FALSE(Client(0).Compile("fail", 3).ok());
  ASSERT_TRUE(Eventually([&] { return !Stored(); }));
  const absl::Time start = absl::Now();
  EXPECT_TRUE(Client(1).Compile("x", 1).ok());
  EXPECT_TRUE(Client(1).Compile("x", 2).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST_F(RedisTest, AllMachinesReportAMistakeTogether) {
  redis_->Start();
  StartKilnds(6, RedisConfig());
  const absl::Time start = absl::Now();
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&, i] {
      absl::StatusOr<proto::CompileReply> reply = Client(i).Compile("error 800", 1);
      ASSERT_TRUE(reply.ok()) << reply.status();
      EXPECT_EQ(reply->diagnostics_size(), 1);
    });
  }
  for (std::thread& client : clients) client.join();
  const absl::Duration took = absl::Now() - start;
  std::printf("six machines learn of a mistake that takes 800 ms to find: %s\n",
              absl::FormatDuration(took).c_str());
  // The first request runs alone, the others together; six in a row would take five seconds.
  EXPECT_LT(took, absl::Milliseconds(3500));
  EXPECT_EQ(Jobs().size(), 6u);
  // Soon nothing is left of it.
  EXPECT_TRUE(Eventually([&] { return !Stored(); }));
}

TEST_F(RedisTest, KillingRedisInAStormFailsNoRequest) {
  redis_->Start();
  StartKilnds(4, RedisConfig());
  std::thread killer([&] {
    AwaitJobs(3);
    redis_->Kill();
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      TestClient client = Client(i % 4);
      for (int j = 0; j < 10; ++j) {
        absl::StatusOr<proto::CompileReply> reply = client.Compile("sleep 30", j);
        EXPECT_TRUE(reply.ok()) << reply.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  killer.join();
  EXPECT_LE(Jobs().size(), 40u);  // at most once per machine

  // The log has one line per change of state, and Redis is used again after its restart.
  redis_->Start();
  ASSERT_TRUE(Eventually([&] {
    static uint64_t seed = 100;
    Client(0).Compile("x", ++seed).IgnoreError();
    return Stored();
  }));
  EXPECT_TRUE(absl::StrContains(LogText(0), "tier redis is not used for now")) << LogText(0);
  // The stored value may be another machine's lease.
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(LogText(0), "tier redis is used again"); }))
      << LogText(0);
}

TEST_F(RedisTest, AHungRedisDelaysOnlyOnceAndBriefly) {
  redis_->Start();
  StartKilnds(1, RedisConfig("", "get_ms: 200"));
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  EXPECT_TRUE(Eventually([&] { return Metric(0, "kiln_shared_put_seconds", "redis") == 1; }));
  EXPECT_GE(Metric(0, "kiln_shared_get_seconds", "redis"), 1);
  EXPECT_EQ(Metric(0, "kiln_shared_lease_seconds", "redis"), 1);
  EXPECT_EQ(Metric(0, "kiln_shared_failures_total", "redis"), -1);
  EXPECT_EQ(Metric(0, "kiln_shared_left_alone", "redis"), 0);
  redis_->Signal(SIGSTOP);
  absl::Time start = absl::Now();
  for (int seed = 2; seed < 6; ++seed) EXPECT_TRUE(Client(0).Compile("x", seed).ok());
  std::printf("four misses beside a hung Redis: %s\n",
              absl::FormatDuration(absl::Now() - start).c_str());
  EXPECT_LT(absl::Now() - start, absl::Seconds(3));
  // The breaker is open, so requests behave as without Redis.
  start = absl::Now();
  EXPECT_TRUE(Client(0).Compile("x", 10).ok());
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(400));
  EXPECT_GE(Metric(0, "kiln_shared_failures_total", "redis"), 3);
  EXPECT_EQ(Metric(0, "kiln_shared_left_alone", "redis"), 1);
  redis_->Signal(SIGCONT);
}

TEST_F(RedisTest, BoundsRequestsThatWaitForAHungRedis) {
  redis_->Start();
  StartKilnds(1, RedisConfig("", "mode: WRITE_ONLY put_ms: 60000"));
  redis_->Signal(SIGSTOP);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_TRUE(Client(0).Compile("big 3000000", seed).ok());
  }
  const double queued = Metric(0, "kiln_shared_queued_bytes");
  EXPECT_GT(queued, 50e6);
  EXPECT_LE(queued, 64 << 20);
  EXPECT_GE(Metric(0, "kiln_shared_events_total", "dropped"), 5);
  // Queued entries are stored when Redis continues.
  redis_->Signal(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return Metric(0, "kiln_shared_queued_bytes") == 0; }));
  EXPECT_TRUE(Stored());
}

TEST_F(RedisTest, AnUnreachableRedisDoesNotDelayTheStart) {
  WriteFile(TempPath("kilnd.conf"), "tier { redis { address: \"10.255.255.1:6379\" } }");
  std::vector<absl::Duration> times;
  for (int i = 0; i < 5; ++i) {
    homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath(absl::StrCat("home", i)))));
    const absl::Time start = absl::Now();
    StartKilnd(i);
    times.push_back(absl::Now() - start);
  }
  std::sort(times.begin(), times.end());
  std::printf("start beside an unreachable Redis: %s\n", absl::FormatDuration(times[0]).c_str());
  EXPECT_LT(times[0], absl::Milliseconds(kSanitized ? 2000 : 100));
  EXPECT_TRUE(Client(0).Compile("x", 1).ok());
}

TEST_F(RedisTest, ADeadRemoteIsReplaced) {
  redis_->Start();
  StartKilnds(2, RedisConfig());
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  ASSERT_EQ(RunProgram({"/usr/bin/pkill", "-9", "-P", absl::StrCat(Pid(0)), "kilnd-remote"}), 0);
  EXPECT_TRUE(Client(0).Compile("x", 2).ok());
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(LogText(0), "restarted"); }));
  // Which stores again.
  absl::SleepFor(absl::Milliseconds(300));
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", 3);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(Eventually([&] { return Client(1).Lookup(made->digest())->found(); }));
}

TEST_F(RedisTest, KillingTheRemoteWhileManyWaitFailsNoRequest) {
  redis_->Start();
  StartKilnds(2, RedisConfig());
  std::thread holder([&] { EXPECT_TRUE(Client(0).Compile("sleep 1500", 1).ok()); });
  AwaitJobs(1);
  std::atomic<int> good{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 16; ++i) {
    waiters.emplace_back([&] { good += Client(1).Compile("sleep 1500", 1).ok(); });
  }
  absl::SleepFor(absl::Milliseconds(300));
  const absl::Time killed = absl::Now();
  ASSERT_EQ(RunProgram({"/usr/bin/pkill", "-9", "-P", absl::StrCat(Pid(1)), "kilnd-remote"}), 0);
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_LT(absl::Now() - killed, absl::Seconds(5));
  holder.join();
  EXPECT_EQ(good, 16);
  // Its machine compiles the key once more by itself.
  EXPECT_EQ(Jobs().size(), 2u);
}

TEST_F(RedisTest, PasswordsAndDatabases) {
  WriteFile(TempPath("password"), "secret\n");
  redis_->Start({"--requirepass", "secret"});
  StartKilnds(
      1, RedisConfig(absl::StrCat("password_file: \"", TempPath("password"), "\" database: 2")));
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath("home1"))));
  StartKilnd(1);
  EXPECT_TRUE(Eventually([&] { return Client(1).Lookup(made->digest())->found(); }));
  // A kilnd with a wrong password compiles by itself.
  WriteFile(TempPath("password"), "wrong\n");
  homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath("home2"))));
  StartKilnd(2);
  EXPECT_EQ(Client(2).Compile("x", 1)->tier(), "compiled");
  EXPECT_FALSE(absl::StrContains(LogText(2), "secret"));
}

TEST_F(RedisTest, OverMutualTls) {
  const TestAuthority authority(dir_, "ca");
  const TestAuthority stranger(dir_, "stranger");
  authority.Issue("redis", "redis");
  authority.Issue("host", "host");
  const std::string address = FreeAddress();
  const std::string port = address.substr(address.rfind(':') + 1);
  const std::vector<std::string> flags = {"--tls-port",         port,
                                          "--tls-cert-file",    authority.PathOf("redis"),
                                          "--tls-key-file",     authority.KeyPathOf("redis"),
                                          "--tls-ca-cert-file", authority.ca_file()};
  redis_->Start(flags);
  const auto config = [&](const std::string& ca, const std::string& more) {
    return absl::StrCat("tier { redis { address: \"localhost:", port,
                        "\" tls { enabled: true ca_file: \"", ca, "\" ", more,
                        " } } }\ntrust { accept_unsigned: true }\n");
  };
  const std::string own = "certificate_file: \"host.pem\" key_file: \"host.key\"";
  const int first = AddKilnd(config("ca.pem", own));
  const int second = AddKilnd(config("ca.pem", own));
  absl::StatusOr<proto::CompileReply> made = Client(first).Compile("big 3000000", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(Eventually([&] { return Client(second).Lookup(made->digest())->found(); }))
      << LogText(first);
  EXPECT_EQ(Jobs().size(), 1u);

  // All other configurations compile by themselves, and each log contains the row's text.
  struct Row {
    std::string config, says;
  };
  const Row rows[] = {
      {config("stranger.pem", own), "certificate"},
      {config("ca.pem", ""), "certificate"},  // presents no certificate
      {config("ca.pem", own + " server_name: \"another.example\""), "ostname mismatch"},
      {config("gone.pem", own), "gone.pem"},
  };
  uint64_t seed = 10;
  for (const Row& row : rows) {
    const int i = AddKilnd(row.config);
    for (int j = 0; j < 3; ++j) EXPECT_TRUE(Client(i).Compile("x", ++seed).ok());
    EXPECT_TRUE(Eventually([&] { return absl::StrContains(LogText(i), row.says); })) << LogText(i);
  }
  // A certificate that expires meanwhile is detected, and so is its replacement.
  authority.Issue("redis", "redis", -1);
  redis_->Kill();
  redis_->Start(flags);
  for (int j = 0; j < 3; ++j) EXPECT_TRUE(Client(first).Compile("x", ++seed).ok());
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(LogText(first), "certificate has expired");
  })) << LogText(first);
  authority.Issue("redis", "redis");
  redis_->Kill();
  redis_->Start(flags);
  EXPECT_TRUE(Eventually([&] {
    absl::SleepFor(absl::Milliseconds(100));
    return Client(first).Compile("x", ++seed).ok() &&
           absl::StrContains(LogText(first), "tier redis is used again");
  }));
}

TEST_F(RedisTest, AClusterIsRefusedByName) {
  const auto port = [](const std::string& address) {
    return address.substr(address.rfind(':') + 1);
  };
  redis_->Start({"--port", port(FreeAddress()), "--cluster-port", port(FreeAddress()),
                 "--cluster-enabled", "yes"});
  StartKilnds(1, RedisConfig());
  EXPECT_TRUE(Client(0).Compile("x", 1).ok());
  const std::string said = "Redis Cluster is not supported";
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(LogText(0), said); })) << LogText(0);
  for (int seed = 2; seed < 6; ++seed) EXPECT_TRUE(Client(0).Compile("x", seed).ok());
  const std::string log = LogText(0);
  EXPECT_EQ(log.find(said), log.rfind(said)) << log;
}

TEST_F(RedisTest, ModesReadOnlyAndWriteOnly) {
  redis_->Start();
  StartKilnds(1, RedisConfig("", "mode: READ_ONLY"));
  ASSERT_TRUE(Client(0).Compile("x", 1).ok());
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_FALSE(Stored());

  WriteFile(TempPath("kilnd.conf"), RedisConfig("", "mode: WRITE_ONLY"));
  for (int i = 1; i < 3; ++i) {
    homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath(absl::StrCat("home", i)))));
    StartKilnd(i);
  }
  ASSERT_TRUE(Client(1).Compile("x", 1).ok());
  ASSERT_TRUE(Eventually([&] { return Stored(); }));
  EXPECT_EQ(Client(2).Compile("x", 1)->tier(), "compiled");

  WriteFile(TempPath("kilnd.conf"), RedisConfig("", "mode: READ_ONLY"));
  homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath("home3"))));
  StartKilnd(3);
  EXPECT_EQ(Client(3).Compile("x", 1)->tier(), "redis");
}

// The recommended set-up: every machine signs, and trusts the configured keys.
TEST_F(RedisTest, AcceptsEntriesOfTrustedSigners) {
  redis_->Start();
  const std::string tier =
      absl::StrCat("tier { redis { address: \"", redis_->socket_path(), "\" } }\n");
  absl::StatusOr<SigningKey> key = SigningKey::Generate("builder");
  ASSERT_TRUE(key.ok());
  WriteFile(TempPath("secret"), key->Text() + "\n");
  ASSERT_EQ(RunProgram({"/bin/chmod", "600", TempPath("secret")}), 0);
  WriteFile(TempPath("trusted"), key->public_key().Text() + "\n");
  const int builder =
      AddKilnd(absl::StrCat(tier, "trust { signing_key_file: \"", TempPath("secret"), "\" }"));
  const int user =
      AddKilnd(absl::StrCat(tier, "trust { key_file: \"", TempPath("trusted"), "\" }"));
  absl::StatusOr<proto::CompileReply> made = Client(builder).Compile("x", 1);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(Eventually([&] { return Stored(); }));
  EXPECT_EQ(Client(user).Compile("x", 1)->tier(), "redis");

  // An entry signed by another key, and an entry with a changed byte.
  absl::StatusOr<SigningKey> other = SigningKey::Generate("other");
  WriteFile(TempPath("others"), other->public_key().Text() + "\n");
  const int stranger =
      AddKilnd(absl::StrCat(tier, "trust { key_file: \"", TempPath("others"), "\" }"));
  EXPECT_FALSE(Client(stranger).Lookup(made->digest())->found());
  std::string changed = made->entry();
  changed[changed.size() - 100] ^= 1;  // within the signature
  redis_->Command({"SET", absl::StrCat("kiln:2:e:{", Digest::FromBytes(made->digest())->Hex(), "}"),
                   "E" + changed});
  const int late =
      AddKilnd(absl::StrCat(tier, "trust { key_file: \"", TempPath("trusted"), "\" }"));
  EXPECT_FALSE(Client(late).Lookup(made->digest())->found());
}

// The documented procedure: every list contains the new key before any machine signs with it, and
// the old key is removed last.
TEST_F(RedisTest, SigningKeysAreRotated) {
  redis_->Start();
  const std::string tier = absl::StrCat("memory { max_bytes: 1 }\ntier { redis { address: \"",
                                        redis_->socket_path(), "\" } }\n");
  const absl::StatusOr<SigningKey> old_key = SigningKey::Generate("old");
  const absl::StatusOr<SigningKey> new_key = SigningKey::Generate("new");
  ASSERT_TRUE(old_key.ok() && new_key.ok());
  const auto give_secret = [&](const SigningKey& key) {
    WriteFile(TempPath("secret"), key.Text() + "\n");
    ASSERT_EQ(RunProgram({"/bin/chmod", "600", TempPath("secret")}), 0);
  };
  const std::string old_line = old_key->public_key().Text() + "\n";
  const std::string new_line = new_key->public_key().Text() + "\n";
  give_secret(*old_key);
  WriteFile(TempPath("trusted"), old_line);
  const std::string trusts = absl::StrCat("trust { key_file: \"", TempPath("trusted"), "\" ");
  const int builder =
      AddKilnd(absl::StrCat(tier, trusts, "signing_key_file: \"", TempPath("secret"), "\" }"));
  const auto build = [&](uint64_t seed) {
    const absl::StatusOr<proto::CompileReply> made = Client(builder).Compile("x", seed);
    EXPECT_TRUE(made.ok()) << made.status();
    const std::string place = Digest::FromBytes(made->digest())->Hex();
    EXPECT_TRUE(Eventually([&] {
      return redis_->Command({"EXISTS", absl::StrCat("kiln:2:e:{", place, "}")}) == ":1\r\n";
    }));
  };
  // The tier from which a new machine gets the kernel.
  const auto tier_of = [&](uint64_t seed) {
    const int user = AddKilnd(absl::StrCat(tier, trusts, "}"));
    return Client(user).Compile("x", seed)->tier();
  };
  build(1);
  EXPECT_EQ(tier_of(1), "redis");

  WriteFile(TempPath("trusted"), old_line + new_line);
  StartKilnd(builder, {"--take-over"});
  EXPECT_EQ(tier_of(1), "redis");
  give_secret(*new_key);
  const pid_t before = Pid(builder);
  StartKilnd(builder, {"--take-over"});
  ASSERT_TRUE(Eventually([&] { return Pid(builder) != before; }));
  build(2);
  EXPECT_EQ(tier_of(1), "redis");
  EXPECT_EQ(tier_of(2), "redis");

  WriteFile(TempPath("trusted"), new_line);
  EXPECT_EQ(tier_of(1), "compiled");
  EXPECT_EQ(tier_of(2), "redis");
  // An own directory needs no signature, whichever daemon wrote to it.
  StartKilnd(builder, {"--take-over"});
  EXPECT_EQ(Client(builder).Compile("x", 1)->tier(), "disk");
}

TEST_F(RedisTest, UnsignedEntriesAreRefusedUnlessAccepted) {
  redis_->Start();
  StartKilnds(1, RedisConfig());
  absl::StatusOr<proto::CompileReply> made = Client(0).Compile("x", 1);
  ASSERT_TRUE(Eventually([&] { return Stored(); }));
  WriteFile(TempPath("kilnd.conf"),
            absl::StrCat("tier { redis { address: \"", redis_->socket_path(), "\" } }"));
  homes_.push_back(std::make_unique<Home>(*Home::Find(TempPath("home1"))));
  StartKilnd(1);
  EXPECT_FALSE(Client(1).Lookup(made->digest())->found());
  EXPECT_EQ(Client(1).Compile("x", 1)->tier(), "compiled");
}

}  // namespace
}  // namespace kiln
