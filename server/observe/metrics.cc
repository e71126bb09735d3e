#include "server/observe/metrics.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace kiln {

struct Metrics::Family {
  const char* name;
  proto::MetricFamily::Kind kind;
  const char* label;  // "": one sample
  const char* help;
};

namespace {

constexpr auto kCounter = proto::MetricFamily::COUNTER;
constexpr auto kGauge = proto::MetricFamily::GAUGE;
constexpr auto kHistogram = proto::MetricFamily::HISTOGRAM;

// Limits the labels that peers can cause.
constexpr size_t kMaxLabels = 64;

// docs/operations.md explains each; a test compares.
constexpr Metrics::Family kFamilies[] = {
    // Requests.
    {"kiln_requests_total", kCounter, "type", "Requests answered, by type."},
    {"kiln_request_errors_total", kCounter, "code", "Requests that ended in a server error."},
    {"kiln_request_seconds", kHistogram, "type", "From a request's receipt to its reply."},
    {"kiln_clients", kGauge, "", "Connected callers."},
    {"kiln_connections", kGauge, "", "Open connections."},
    {"kiln_running_requests", kGauge, "", "Requests being answered."},
    {"kiln_received_bytes_total", kCounter, "", "Bytes of requests."},
    {"kiln_sent_bytes_total", kCounter, "", "Bytes of replies."},
    {"kiln_refused_total", kCounter, "why", "Connections and requests refused."},
    // The cache. Hits and the time that they saved are kept across restarts.
    {"kiln_cache_hits_total", kCounter, "tier",
     "Requests served without compiling; \"client\": read from disk by clients themselves."},
    {"kiln_cache_misses_total", kCounter, "reason",
     "Compilations requested, by the key's difference from the kernel's nearest earlier key."},
    {"kiln_cache_saved_seconds_total", kCounter, "", "Compile time that hits saved."},
    {"kiln_cache_entries", kGauge, "tier", "Entries that a tier holds."},
    {"kiln_cache_bytes", kGauge, "tier", "Bytes that a tier holds."},
    {"kiln_cache_evictions_total", kCounter, "tier", "Entries evicted to stay within the budget."},
    {"kiln_cache_corrupt_total", kCounter, "tier", "Entries that failed their check."},
    // Entries from outside.
    {"kiln_entries_checked_total", kCounter, "outcome",
     "Entries from outside, admitted or refused, by reason; \"signed\": signed here."},
    {"kiln_shared_events_total", kCounter, "event",
     "Starts of kilnd-remote, its timeouts, stores dropped, waits for other machines."},
    {"kiln_shared_queued_bytes", kGauge, "",
     "Bytes of entries waiting to be stored in shared tiers."},
    {"kiln_shared_get_seconds", kHistogram, "tier", "Duration of look-ups in a shared tier."},
    {"kiln_shared_put_seconds", kHistogram, "tier", "Duration of storing an entry."},
    {"kiln_shared_lease_seconds", kHistogram, "tier", "Duration of requests for a lease."},
    {"kiln_shared_compile_seconds", kHistogram, "tier",
     "Duration of compilations by an upstream or a cluster."},
    {"kiln_shared_failures_total", kCounter, "tier", "Failed requests to a tier."},
    {"kiln_shared_left_alone", kGauge, "tier",
     "1 while a tier is not used, after several failures."},
    // Compiling.
    {"kiln_compiles_total", kCounter, "outcome", "Finished compilations, by outcome."},
    {"kiln_compile_seconds", kHistogram, "", "Duration of compilations in the worker."},
    {"kiln_compile_stage_seconds", kHistogram, "stage", "The same, by stage of the compiler."},
    {"kiln_queue_jobs", kGauge, "", "Compilations waiting for a worker."},
    {"kiln_queue_seconds", kHistogram, "", "How long compilations waited for a worker."},
    {"kiln_workers", kGauge, "state", "Workers, busy and idle."},
    {"kiln_worker_deaths_total", kCounter, "", "Workers that died or were killed at a limit."},
    {"kiln_worker_gaps", kGauge, "gap", "1 for each restriction that workers could not apply."},
    {"kiln_cuda_toolchain", kGauge, "toolchain",
     "1 for what the last worker makes code for CUDA with."},
    {"kiln_poisoned_keys", kGauge, "", "Keys refused for a while because they killed workers."},
    {"kiln_fallbacks_total", kCounter, "",
     "Compilations that clients ran themselves because the daemon did not answer."},
    // The process.
    {"kiln_build_info", kGauge, "version", "1."},
    {"kiln_start_time_seconds", kGauge, "", "When the daemon started, in Unix seconds."},
    {"kiln_resident_bytes", kGauge, "", "The daemon's resident memory."},
    {"kiln_cpu_seconds_total", kCounter, "", "The daemon's processor time, in seconds."},
    {"kiln_open_files", kGauge, "", "The daemon's open descriptors."},
    {"kiln_front_serves", kGauge, "front", "1 while a configured front serves, else 0."},
};

const Metrics::Family& Find(absl::string_view name, proto::MetricFamily::Kind kind) {
  for (const Metrics::Family& family : kFamilies) {
    if (family.name == name && family.kind == kind) return family;
  }
  std::fprintf(stderr, "no metric %s of that kind\n", std::string(name).c_str());
  // A mistake of this program, found by the first test that reaches it.
  std::abort();
}

}  // namespace

void Histogram::Observe(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  // Relaxed: a reading may miss an observation of the same moment, and nothing else depends on the
  // order.
  counts_[bound - kBounds.begin()].fetch_add(1, std::memory_order_relaxed);
  const int64_t nanoseconds = std::max<int64_t>(absl::ToInt64Nanoseconds(duration), 0);
  // Whole numbers: additions of doubles by several threads would need a loop, and lose small ones.
  nanoseconds_.fetch_add(static_cast<uint64_t>(nanoseconds), std::memory_order_relaxed);
}

void Histogram::ToProto(proto::MetricSample* sample) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    sum += counts_[i].load(std::memory_order_relaxed);
    sample->add_bounds(kBounds[i]);
    sample->add_buckets(sum);
  }
  sample->set_count(sum + counts_.back().load(std::memory_order_relaxed));
  sample->set_value(static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / 1e9);
}

Metrics& Metrics::Get() {
  // Never destroyed: threads may count while the process ends.
  static Metrics* const metrics = new Metrics;
  return *metrics;
}

// Families without a label have a sample, zero, from the start.
Metrics::Metrics() {
  for (const Family& family : kFamilies) {
    if (*family.label == '\0') FindCell(family, "");
  }
}

Metrics::Cell* Metrics::FindCell(const Family& family, absl::string_view label) {
  absl::MutexLock lock(&mutex_);
  auto& cells = cells_[static_cast<int>(&family - kFamilies)];
  auto found = cells.find(label);
  if (found != cells.end()) return &found->second;
  // Labels may come from peers, such as names of tiers or callers; each costs memory for ever.
  if (cells.size() >= kMaxLabels) label = "other";
  Cell& cell = cells[std::string(label)];
  if (family.kind == kHistogram && cell.histogram == nullptr) {
    cell.histogram = std::make_unique<Histogram>();
  }
  return &cell;
}

Counter* Metrics::counter(absl::string_view family, absl::string_view label) {
  return &FindCell(Find(family, kCounter), label)->counter;
}

Gauge* Metrics::gauge(absl::string_view family, absl::string_view label) {
  return &FindCell(Find(family, kGauge), label)->gauge;
}

Histogram* Metrics::histogram(absl::string_view family, absl::string_view label) {
  return FindCell(Find(family, kHistogram), label)->histogram.get();
}

proto::MetricsReply Metrics::Collect() {
  {
    absl::MutexLock lock(&watch_mutex_);
    // Values that are known elsewhere are fetched now, not at each change. Before `mutex_` is
    // taken, which the functions need.
    for (const std::function<void()>& write : watches_) write();
  }
  absl::MutexLock lock(&mutex_);
  proto::MetricsReply reply;
  for (const Family& row : kFamilies) {
    proto::MetricFamily* family = reply.add_families();
    family->set_name(row.name);
    family->set_help(row.help);
    family->set_kind(row.kind);
    for (const auto& [label, cell] : cells_[static_cast<int>(&row - kFamilies)]) {
      proto::MetricSample* sample = family->add_samples();
      if (*row.label != '\0') (*sample->mutable_labels())[row.label] = label;
      if (row.kind == kCounter) sample->set_value(cell.counter.value());
      if (row.kind == kGauge) sample->set_value(cell.gauge.value());
      if (row.kind == kHistogram) cell.histogram->ToProto(sample);
    }
  }
  return reply;
}

Metrics::Watch::Watch(std::function<void()> write, Metrics* metrics) : metrics_(metrics) {
  absl::MutexLock lock(&metrics_->watch_mutex_);
  // A list: iterators stay valid while others come and go.
  self_ = metrics_->watches_.insert(metrics_->watches_.end(), std::move(write));
}

Metrics::Watch::~Watch() {
  absl::MutexLock lock(&metrics_->watch_mutex_);
  metrics_->watches_.erase(self_);
}

}  // namespace kiln
