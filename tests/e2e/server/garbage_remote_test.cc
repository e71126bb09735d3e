// kilnd with a kilnd-remote that sends garbage: every compilation succeeds with the entry of a
// local worker, and kilnd does not grow.
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "gtest/gtest.h"
#include "tests/e2e/server/cluster_fixture.h"

namespace kiln {
namespace {

class GarbageRemoteTest : public ClusterTest {
 protected:
  void SetUp() override {
    const std::string kilnd = KilndPath();
    const std::string top = kilnd.substr(0, kilnd.rfind("/server/daemon/"));
    std::filesystem::remove(TempPath("bin/kilnd-remote"));
    std::filesystem::create_symlink(top + "/tests/e2e/server/garbage-remote",
                                    TempPath("bin/kilnd-remote"));
  }
  // Compiles `count` kernels, one after the other.
  void AskFor(uint64_t seed, int count) {
    TestClient client = Client(0);
    for (int i = 0; i < count; ++i) {
      const absl::Time start = absl::Now();
      const auto made = client.Compile("sleep 10", seed + i);
      ASSERT_TRUE(made.ok()) << made.status();
      EXPECT_EQ(made->tier(), "compiled");
      const auto key = *Key::FromBytes(made->digest());
      EXPECT_TRUE(DecodeEntry(made->entry(), &key).ok());
      EXPECT_LT(absl::Now() - start, absl::Seconds(kSanitized ? 20 : 8));
      // What is found nowhere.
      const auto absent = client.Lookup(std::string(32, static_cast<char>(i)));
      EXPECT_TRUE(absent.ok() && !absent->found());
    }
  }
  double SharedEvents(const std::string& event) {
    TestClient client = Client(0);
    const auto reply =
        client.Call<proto::MetricsReply>(FrameType::kMetrics, proto::MetricsRequest());
    for (const auto& family : reply->families()) {
      if (family.name() != "kiln_shared_events_total") continue;
      for (const auto& sample : family.samples()) {
        if (sample.labels().begin()->second == event) return sample.value();
      }
    }
    return 0;
  }
};

TEST_F(GarbageRemoteTest, AllClientsGetTheCompiledEntry) {
  StartKilnds(
      1, "tier { redis { address: \"nowhere:1\" } get_ms: 100 } trust { accept_unsigned: true }");
  ASSERT_TRUE(Client(0).Compile("first", 1).ok());
  const pid_t pid = Pid(0);
  const int before = ResidentKilobytes(Pid(0));
  constexpr int kThreads = 4, kEach = 60;
  size_t compiled = 1;
  // Continue until it was asked, has answered, exited and was restarted; otherwise the test shows
  // nothing.
  bool shown = false;
  for (int round = 0; round < 20 && !shown && !HasFailure(); ++round) {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      const uint64_t seed = 1000 * (kThreads * round + thread + 1);
      threads.emplace_back([this, seed] { AskFor(seed, kEach); });
    }
    for (std::thread& thread : threads) thread.join();
    compiled += kThreads * kEach;
    shown = SharedEvents("waited") > 2 && SharedEvents("start") > 2;
  }
  EXPECT_TRUE(shown);
  EXPECT_EQ(Pid(0), pid);
  EXPECT_EQ(Jobs().size(), compiled);
  EXPECT_LT(ResidentKilobytes(Pid(0)), before + (kSanitized ? 1 << 20 : 48 << 10));
  const auto stats = Client(0).Stats();
  EXPECT_EQ(stats->hits_by_tier().count("noise"), 0u);
}

}  // namespace
}  // namespace kiln
