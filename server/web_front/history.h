// The metrics of the last half hour, every two seconds, and of the last day, every
// minute, for the dashboard's charts. Thread-safe.
#ifndef KILN_SERVER_WEB_FRONT_HISTORY_H_
#define KILN_SERVER_WEB_FRONT_HISTORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

class History {
 public:
  static constexpr absl::Duration kFine = absl::Seconds(2);
  static constexpr absl::Duration kCoarse = absl::Minutes(1);

  void Add(absl::Time time, const proto::MetricsReply& metrics);

  // A JSON list with one object per step between samples, oldest first: `t` (Unix seconds),
  // `requests`, `hits`, `misses` (in the step), `seconds` (its length), `p50` and `p99` (of
  // look-ups and compilations, in seconds; null if there were none), `queue`, `busy`, `bytes`,
  // `resident`. After a restart of the daemon, counts begin at zero.
  std::string Json(bool coarse) const;

 private:
  static constexpr size_t kMaxBuckets = 32;
  struct Sample {
    double time = 0;
    double started = 0;  // identifies the run of the daemon
    double requests = 0, hits = 0, misses = 0;
    double queue = 0, busy = 0, bytes = 0, resident = 0;
    std::array<uint64_t, kMaxBuckets> latency{};  // by bucket, not cumulative
  };

  static Sample ToSample(absl::Time time, const proto::MetricsReply& metrics);
  static std::string StepJson(const Sample& from, const Sample& to);

  mutable absl::Mutex mutex_;
  std::deque<Sample> fine_ ABSL_GUARDED_BY(mutex_);
  std::deque<Sample> coarse_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_HISTORY_H_
