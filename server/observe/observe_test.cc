// Metrics, recent activity, reasons for misses, and JSON.
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/daemon/compiling/miss_reasons.h"
#include "server/observe/activity.h"
#include "server/observe/json_text.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

const proto::MetricFamily& FamilyOf(const proto::MetricsReply& reply, const std::string& name) {
  for (const proto::MetricFamily& family : reply.families()) {
    if (family.name() == name) return family;
  }
  ADD_FAILURE() << "no family " << name;
  return reply.families(0);
}

TEST(Metrics, CountsFromManyThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Counter* const counter = metrics.counter("kiln_requests_total", "lookup");
      for (int k = 0; k < 10000; ++k) counter->Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const proto::MetricsReply reply = metrics.Collect();
  const proto::MetricFamily& family = FamilyOf(reply, "kiln_requests_total");
  ASSERT_EQ(family.samples_size(), 1);
  EXPECT_EQ(family.samples(0).labels().at("type"), "lookup");
  EXPECT_EQ(family.samples(0).value(), 40000);
}

TEST(Metrics, BucketsAreCumulativeAndBoundsBelongToTheirBucket) {
  Metrics metrics;
  Histogram* const histogram = metrics.histogram("kiln_compile_seconds");
  histogram->Observe(absl::Milliseconds(1));  // exactly a bound: at most 1 ms
  histogram->Observe(absl::Milliseconds(2));
  histogram->Observe(absl::Minutes(2));  // beyond the last
  const proto::MetricsReply reply = metrics.Collect();
  const proto::MetricSample& sample = FamilyOf(reply, "kiln_compile_seconds").samples(0);
  EXPECT_EQ(sample.count(), 3u);
  EXPECT_NEAR(sample.value(), 120.003, 1e-6);
  for (int i = 0; i < sample.bounds_size(); ++i) {
    const uint64_t expected = sample.bounds(i) < 1e-3 ? 0 : sample.bounds(i) < 2e-3 ? 1 : 2;
    EXPECT_EQ(sample.buckets(i), expected) << sample.bounds(i);
  }
}

TEST(Metrics, NamesOfPeersMakeABoundedNumberOfLabels) {
  Metrics metrics;
  for (int i = 0; i < 1000; ++i) {
    metrics.counter("kiln_request_errors_total", std::to_string(i))->Add();
  }
  const proto::MetricsReply reply = metrics.Collect();
  const proto::MetricFamily& family = FamilyOf(reply, "kiln_request_errors_total");
  EXPECT_LE(family.samples_size(), 65);
  double sum = 0;
  for (const proto::MetricSample& sample : family.samples()) sum += sample.value();
  EXPECT_EQ(sum, 1000);
}

TEST(Metrics, AWatchWritesWhileItExists) {
  Metrics metrics;
  {
    int asked = 0;
    const Metrics::Watch watch([&] { metrics.gauge("kiln_queue_jobs")->Set(++asked); }, &metrics);
    EXPECT_EQ(FamilyOf(metrics.Collect(), "kiln_queue_jobs").samples(0).value(), 1);
    EXPECT_EQ(FamilyOf(metrics.Collect(), "kiln_queue_jobs").samples(0).value(), 2);
  }
  EXPECT_EQ(FamilyOf(metrics.Collect(), "kiln_queue_jobs").samples(0).value(), 2);
}

TEST(MetricsDeathTest, AnUnknownNameIsAnError) {
  Metrics metrics;
  EXPECT_DEATH(metrics.counter("kiln_no_such_thing_total"), "kiln_no_such_thing_total");
  EXPECT_DEATH(metrics.gauge("kiln_requests_total"), "kiln_requests_total");
}

proto::RequestRecord Compiled(const std::string& key, double seconds, size_t unit_bytes = 10) {
  proto::RequestRecord record;
  record.set_digest(key);
  record.set_outcome("compiled");
  record.add_stages()->set_seconds(seconds);
  record.set_unit(std::string(unit_bytes, 'u'));
  return record;
}

TEST(Activity, NewestFirstAndSlowestFirstOneAKey) {
  Activity activity;
  activity.Note(Compiled("a", 1));
  activity.Note(Compiled("b", 3));
  activity.Note(Compiled("a", 2));
  const proto::RecentReply recent = activity.Recent(proto::RecentRequest());
  ASSERT_EQ(recent.requests_size(), 3);
  EXPECT_EQ(recent.requests(0).digest(), "a");
  EXPECT_EQ(recent.requests(0).unit(), "");
  proto::RecentRequest request;
  request.set_slowest(true);
  const proto::RecentReply slowest = activity.Recent(request);
  ASSERT_EQ(slowest.requests_size(), 2);
  EXPECT_EQ(slowest.requests(0).digest(), "b");
  EXPECT_EQ(slowest.requests(1).stages(0).seconds(), 2);
}

TEST(Activity, KeepsABoundedNumberOfRecordsAndBytes) {
  Activity activity;
  for (int i = 0; i < 2000; ++i) activity.Note(Compiled(std::to_string(i), i, 64 << 10));
  activity.Note(Compiled("huge", 1, 64 << 20));
  proto::RecentRequest request;
  request.set_limit(100000);
  EXPECT_EQ(activity.Recent(request).requests_size(), 512);
  uint64_t bytes = 0;
  for (int i = 0; i < 2000; ++i) {
    request.set_digest(std::to_string(i));
    const proto::RecentReply reply = activity.Recent(request);
    for (const auto& record : reply.requests()) bytes += record.unit().size();
  }
  EXPECT_LE(bytes, 2 * (4u << 20));  // those among the slowest come twice
  EXPECT_GT(bytes, 1u << 20);
}

TEST(Activity, AClientIsListedWhileItHasConnections) {
  Activity activity;
  auto one = activity.Enter("pid 1");
  auto two = activity.Enter("pid 1");
  EXPECT_EQ(activity.clients(), 1u);
  EXPECT_EQ(activity.Recent(proto::RecentRequest()).clients(0).connections(), 2u);
  one.reset();
  EXPECT_EQ(activity.clients(), 1u);
  two.reset();
  EXPECT_EQ(activity.clients(), 0u);
}

proto::ArtifactInfo Info(std::vector<std::pair<std::string, uint64_t>> parts) {
  proto::ArtifactInfo info;
  info.set_kernel("k");
  for (const auto& [name, digest] : parts) {
    proto::KeyPart* part = info.add_key_parts();
    part->set_name(name);
    part->set_digest(digest);
  }
  return info;
}

TEST(MissReasons, NamesThePartThatDiffersFromTheNearest) {
  MissReasons reasons;
  EXPECT_EQ(reasons.Explain(Info({{"compiler", 1}, {"code", 1}, {"storage 0", 1}})), "new");
  EXPECT_EQ(reasons.Explain(Info({{"compiler", 1}, {"code", 1}, {"storage 0", 1}})), "again");
  EXPECT_EQ(reasons.Explain(Info({{"compiler", 1}, {"code", 2}, {"storage 0", 1}})), "code");
  // The nearest entry is the first one, which differs only in the storage.
  EXPECT_EQ(reasons.Explain(Info({{"compiler", 1}, {"code", 1}, {"storage 0", 2}})), "storage");
  EXPECT_EQ(reasons.Explain(Info({{"compiler", 2}, {"code", 1}, {"storage 0", 2}})), "compiler");
  EXPECT_EQ(reasons.Explain(Info({{"compiler", 1}, {"code", 1}, {"storage 0", 1}, {"tree 0", 1}})),
            "tree");
}

TEST(JsonText, EscapesCharactersOfJsonAndHtml) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01<&é"), "\"a\\\"b\\\\c\\n\\u0001\\u003c\\u0026é\"");
  EXPECT_EQ(JsonString("\xff\xc3(\xed\xa0\x80"), "\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(JsonNumber(0.0 / 0.0), "null");
  EXPECT_EQ(JsonNumber(1.5), "1.5");
}

}  // namespace
}  // namespace kiln
