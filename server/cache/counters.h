// What the cache did, over all lives of the daemon. Thread-safe.
//
// hits    requests served without compiling: by tier ("memory", "disk"), by a
//         compile that was already under way ("joined"), by a client that read
//         the disk tier itself ("client"), by kilnd-grpc from what it keeps ("front")
// misses  requests that had to compile
#ifndef KILN_SERVER_CACHE_COUNTERS_H_
#define KILN_SERVER_CACHE_COUNTERS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "proto/service.pb.h"

namespace kiln {

class Counters {
 public:
  void Hit(absl::string_view tier, double seconds_saved, uint64_t count = 1);
  void Miss();
  // A compilation that ended with an artifact, or with diagnostics.
  void Compiled(bool with_errors);

  proto::StatsReply Totals() const;
  // Changes whenever a counter does.
  uint64_t version() const;

  // Adds what `path` holds from earlier lives; returns where in the hit log it
  // ends. A file that is missing or damaged counts as nothing.
  uint64_t Load(const std::string& path);
  // Written aside and renamed. `extra` are totals kept elsewhere.
  static absl::Status Save(const std::string& path, const proto::StatsReply& totals,
                           uint64_t hit_log_offset);

 private:
  mutable absl::Mutex mutex_;
  proto::StatsReply totals_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_COUNTERS_H_
