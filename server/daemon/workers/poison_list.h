// Kernels whose compilation killed two workers, or took too long. They are refused for a while, so
// that repeated requests for one of them do not occupy the workers. The list is keyed by the
// entries' places, so a tenant's kernels have no effect on another tenant, not even a refusal.
//
// Thread-safe. Remembers the latest thousand.
#ifndef KILN_SERVER_DAEMON_WORKERS_POISON_LIST_H_
#define KILN_SERVER_DAEMON_WORKERS_POISON_LIST_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace kiln {

class PoisonList {
 public:
  explicit PoisonList(absl::Duration refused_for = absl::Minutes(10), size_t limit = 1000)
      : refused_for_(refused_for), limit_(limit) {}

  // `why` says what happened to the workers: "took longer than 2m".
  void Add(const Place& place, absl::string_view why, absl::Time now);
  // OK, or Internal with part "kernel" and when to retry; the message names the kernel and the
  // reason.
  absl::Status Check(const Place& place, absl::string_view name, absl::Time now);
  size_t size() const;

 private:
  struct Poison {
    std::string why;
    absl::Time until;
  };

  const absl::Duration refused_for_;
  const size_t limit_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Place, Poison> poisons_ ABSL_GUARDED_BY(mutex_);
  std::deque<Place> order_ ABSL_GUARDED_BY(mutex_);  // in order of addition; each once
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WORKERS_POISON_LIST_H_
