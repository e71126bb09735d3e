// The daemon's metrics, by name: /metrics, `kiln top` and the dashboard show them.
//
// A family is a row of the table in metrics.cc; a sample is one value of its label. Components look
// up their cells once, and count without a lock:
//
//   Counter* const deaths = Metrics::Get().counter("kiln_worker_deaths_total", "limit");
//   deaths->Add();
//
// A Watch samples values that a component already keeps (sizes, queues) when metrics are collected.
// Thread-safe. Cells live as long as the process.
#ifndef KILN_SERVER_OBSERVE_METRICS_H_
#define KILN_SERVER_OBSERVE_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

class Counter {
 public:
  void Add(uint64_t count = 1) { count_.fetch_add(count, std::memory_order_relaxed); }
  // For a Watch: adds a count that is kept elsewhere.
  void SetElsewhere(double value) { elsewhere_.store(value, std::memory_order_relaxed); }
  double value() const {
    return static_cast<double>(count_.load(std::memory_order_relaxed)) +
           elsewhere_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<double> elsewhere_{0};
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Durations, in buckets from 10 µs to a minute.
class Histogram {
 public:
  static constexpr std::array<double, 21> kBounds = {
      1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025,
      0.05, 0.1,    0.25, 0.5,  1,      2.5,  5,    10,     30,   60};

  void Observe(absl::Duration duration);
  void ToProto(proto::MetricSample* sample) const;

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_{};  // the last: above all bounds
  std::atomic<uint64_t> nanoseconds_{0};
};

class Metrics {
 public:
  struct Family;  // a row of the table

  Metrics();
  // The metrics of the process; one object, like the log.
  static Metrics& Get();

  // The cell of `family` for a value of its label. Aborts if the table has no such family of that
  // kind. The number of values is bounded; later ones share "other".
  Counter* counter(absl::string_view family, absl::string_view label = "");
  Gauge* gauge(absl::string_view family, absl::string_view label = "");
  Histogram* histogram(absl::string_view family, absl::string_view label = "");

  // All families of the table, including those without samples.
  proto::MetricsReply Collect();

  // Calls `write` before each collection, as long as it lives.
  class Watch {
   public:
    explicit Watch(std::function<void()> write, Metrics* metrics = &Get());
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Metrics* const metrics_;
    std::list<std::function<void()>>::iterator self_;
  };

 private:
  struct Cell {
    Counter counter;
    Gauge gauge;
    std::unique_ptr<Histogram> histogram;
  };
  Cell* FindCell(const Family& family, absl::string_view label);

  absl::Mutex watch_mutex_;  // before mutex_
  std::list<std::function<void()>> watches_ ABSL_GUARDED_BY(watch_mutex_);
  absl::Mutex mutex_;
  // By family, in the order of the table, then by label.
  std::map<int, std::map<std::string, Cell, std::less<>>> cells_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_OBSERVE_METRICS_H_
