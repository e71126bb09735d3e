// The daemon's background work: indexes the disk tier, counts clients' hits, evicts entries, bounds
// the clients' records of kernels, saves the counters.
#ifndef KILN_SERVER_DAEMON_HOUSEKEEPER_H_
#define KILN_SERVER_DAEMON_HOUSEKEEPER_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/home/home.h"
#include "kiln/proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/cache/counters.h"
#include "server/cache/disk_store.h"
#include "server/cache/hit_log.h"

namespace kiln {

class Housekeeper {
 public:
  // `tiers` contains `disk`; neither is owned. Reads the saved counters. <home>/warm may take at
  // most `warm_bytes` of the disk; 0: it is not touched.
  Housekeeper(const Home& home, DiskStore* disk, uint64_t warm_bytes, const ArtifactStore* tiers,
              Counters* counters);
  // Saves the counters a last time.
  ~Housekeeper();

  // Saves the counters for a successor, which continues them; never saves again.
  void Retire();
  // Starts the background work.
  void Start();
  // Requests a round soon.
  void Nudge();
  // The totals since the counters began, including clients' hits up to now.
  proto::StatsReply Totals();
  // The same without reading the disk: omits entries and bytes.
  proto::StatsReply Counted();

 private:
  void Work();
  void Round();
  void CountClientHits();
  proto::StatsReply TotalsNow() const;

  const Home home_;
  DiskStore* const disk_;
  const uint64_t warm_bytes_;
  const ArtifactStore* const tiers_;
  Counters* const counters_;

  absl::Mutex round_mutex_;  // one round at a time
  HitLog log_ ABSL_GUARDED_BY(round_mutex_);
  uint64_t saved_version_ ABSL_GUARDED_BY(round_mutex_) = 0;
  absl::Time scanned_ ABSL_GUARDED_BY(round_mutex_) = absl::InfinitePast();

  bool retired_ = false;  // of the thread that owns this
  absl::Mutex mutex_;
  bool nudged_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_HOUSEKEEPER_H_
