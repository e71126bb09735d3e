// The cache's counters, kept across restarts of the daemon. Thread-safe.
//
// hits    requests served without compiling: by tier ("memory", "disk"), by a
//         running compilation ("joined"), by a client that read the disk tier
//         itself ("client"), by kilnd-grpc from its cache ("front")
// misses  requests that had to compile
#ifndef KILN_SERVER_CACHE_COUNTERS_H_
#define KILN_SERVER_CACHE_COUNTERS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

class Counters {
 public:
  void Hit(absl::string_view tier, double seconds_saved, uint64_t count = 1);
  void Miss();
  // Counts a compilation that ended with an artifact, or with diagnostics.
  void Compiled(bool with_errors);

  proto::StatsReply Totals() const;
  // Changes whenever a counter does.
  uint64_t version() const;

  // Adds the counts saved in `path`; returns the offset in the hit log up to which they count. A
  // missing or damaged file counts as zero.
  uint64_t Load(const std::string& path);
  // Writes aside and renames. `extra` are totals kept elsewhere.
  static absl::Status Save(const std::string& path, const proto::StatsReply& totals,
                           uint64_t hit_log_offset);

 private:
  mutable absl::Mutex mutex_;
  proto::StatsReply totals_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_COUNTERS_H_
