#include "server/web_front/history.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/observe/json_text.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

// Half an hour of samples, two seconds apart, and a day of samples each minute.
constexpr size_t kMaxFine = 900;
constexpr size_t kMaxCoarse = 1440;

static_assert(Histogram::kBounds.size() + 1 <= 32, "a sample holds the buckets");

double Sum(const proto::MetricFamily& family) {
  double sum = 0;
  for (const proto::MetricSample& sample : family.samples()) sum += sample.value();
  return sum;
}

double ValueOf(const proto::MetricFamily& family, absl::string_view label) {
  for (const proto::MetricSample& sample : family.samples()) {
    for (const auto& [name, value] : sample.labels()) {
      if (value == label) return sample.value();
    }
  }
  return 0;
}

// Assumes that observations are spread evenly within a bucket.
template <typename Counts>
double Percentile(const Counts& counts, uint64_t total, double fraction) {
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  const double wanted = fraction * static_cast<double>(total);
  double below = 0;
  for (size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= wanted) {
      const double low = i == 0 ? 0 : Histogram::kBounds[i - 1];
      return low + (Histogram::kBounds[i] - low) * (wanted - below) / here;
    }
    below += here;
  }
  // Beyond the last bound: at least that much.
  return Histogram::kBounds.back();
}

}  // namespace

History::Sample History::ToSample(absl::Time time, const proto::MetricsReply& metrics) {
  Sample out;
  out.time = absl::ToDoubleSeconds(time - absl::UnixEpoch());
  for (const proto::MetricFamily& family : metrics.families()) {
    const std::string& name = family.name();
    if (name == "kiln_start_time_seconds") out.started = Sum(family);
    if (name == "kiln_cache_hits_total") out.hits = Sum(family);
    if (name == "kiln_cache_misses_total") out.misses = Sum(family);
    if (name == "kiln_queue_jobs") out.queue = Sum(family);
    if (name == "kiln_workers") out.busy = ValueOf(family, "busy");
    if (name == "kiln_resident_bytes") out.resident = Sum(family);
    if (name == "kiln_cache_bytes") out.bytes = ValueOf(family, "disk");
    if (name == "kiln_requests_total") {
      out.requests = ValueOf(family, "lookup") + ValueOf(family, "compile");
    }
    if (name != "kiln_request_seconds") continue;
    for (const proto::MetricSample& sample : family.samples()) {
      const auto type = sample.labels().find("type");
      if (type == sample.labels().end()) continue;
      if (type->second != "lookup" && type->second != "compile") continue;
      // Buckets are cumulative in metrics, and single here.
      uint64_t before = 0;
      const int buckets = std::min<int>(sample.buckets_size(), Histogram::kBounds.size());
      for (int i = 0; i < buckets; ++i) {
        out.latency[i] += sample.buckets(i) - before;
        before = sample.buckets(i);
      }
      // The last bucket has no bound.
      out.latency[Histogram::kBounds.size()] += sample.count() - before;
    }
  }
  return out;
}

void History::Add(absl::Time time, const proto::MetricsReply& metrics) {
  const Sample sample = ToSample(time, metrics);
  absl::MutexLock lock(&mutex_);
  fine_.push_back(sample);
  if (fine_.size() > kMaxFine) fine_.pop_front();
  // The coarse history takes every sample that is a step after its last one.
  if (!coarse_.empty() && sample.time - coarse_.back().time < absl::ToDoubleSeconds(kCoarse))
    return;
  coarse_.push_back(sample);
  if (coarse_.size() > kMaxCoarse) coarse_.pop_front();
}

std::string History::StepJson(const Sample& from, const Sample& to) {
  // Counters of an earlier run of the daemon do not apply to this one.
  const Sample base = from.started == to.started ? from : Sample();
  const bool anew = from.started != to.started;
  std::array<uint64_t, kMaxBuckets> counts{};
  uint64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    // Never below zero, whatever the daemon reports.
    counts[i] = to.latency[i] - std::min(base.latency[i], to.latency[i]);
    total += counts[i];
  }
  // Hits are kept across restarts: their difference always counts.
  const double hits = std::max(0.0, to.hits - from.hits);
  std::string json = absl::StrCat("{\"t\":", JsonNumber(to.time),
                                  ",\"seconds\":", JsonNumber(to.time - from.time));
  const auto add = [&](const char* name, double value) {
    absl::StrAppend(&json, ",\"", name, "\":", JsonNumber(value));
  };
  add("requests", std::max(0.0, to.requests - base.requests));
  add("hits", hits);
  add("misses", std::max(0.0, to.misses - base.misses));
  add("p50", Percentile(counts, total, 0.5));
  add("p99", Percentile(counts, total, 0.99));
  add("queue", to.queue);
  add("busy", to.busy);
  add("bytes", to.bytes);
  add("resident", to.resident);
  absl::StrAppend(&json, ",\"anew\":", anew ? "true" : "false", "}");
  return json;
}

std::string History::Json(bool coarse) const {
  absl::MutexLock lock(&mutex_);
  const std::deque<Sample>& samples = coarse ? coarse_ : fine_;
  std::string json = "[";
  for (size_t i = 1; i < samples.size(); ++i) {
    absl::StrAppend(&json, i == 1 ? "" : ",", StepJson(samples[i - 1], samples[i]));
  }
  return json + "]";
}

}  // namespace kiln
