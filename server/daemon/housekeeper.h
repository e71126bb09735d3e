// What the daemon does in the background: indexes the disk tier, counts what
// clients hit, evicts, keeps their records of kernels within a budget, saves the counters.
#ifndef KILN_SERVER_DAEMON_HOUSEKEEPER_H_
#define KILN_SERVER_DAEMON_HOUSEKEEPER_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "lang/home.h"
#include "proto/service.pb.h"
#include "server/cache/artifact_store.h"
#include "server/cache/counters.h"
#include "server/cache/disk_store.h"
#include "server/cache/hit_log.h"

namespace kiln {

class Housekeeper {
 public:
  // `tiers` holds `disk`; none is owned. Reads the saved counters. At most `warm_bytes` of
  // the disk are for <home>/warm; 0: it is left alone.
  Housekeeper(const Home& home, DiskStore* disk, uint64_t warm_bytes, const ArtifactStore* tiers,
              Counters* counters);
  // Saves the counters a last time.
  ~Housekeeper();

  // Saves the counters, for a successor to go on with, and never again.
  void Retire();
  // Begins the background work.
  void Start();
  // There is something to do: asks for a round soon.
  void Nudge();
  // The totals of all lives, clients' hits up to now included.
  proto::StatsReply Totals();
  // The same without a look at the disk: entries and bytes are left out.
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
