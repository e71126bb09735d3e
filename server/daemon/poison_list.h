// Kernels whose compilation killed two workers, or took too long: refused for a while, so that
// one kernel that crashes the compiler, asked for again and again, does not keep the workers
// from others. They are known by the places of their entries: a tenant's kernels are nothing
// to another, not even by a refusal.
//
// Thread-safe. Remembers the latest thousand.
#ifndef KILN_SERVER_DAEMON_POISON_LIST_H_
#define KILN_SERVER_DAEMON_POISON_LIST_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "lang/digest.h"

namespace kiln {

class PoisonList {
 public:
  explicit PoisonList(absl::Duration refused_for = absl::Minutes(10), size_t limit = 1000)
      : refused_for_(refused_for), limit_(limit) {}

  // `why` is what happened to the workers: "took longer than 2m".
  void Add(const Digest& place, absl::string_view why, absl::Time now);
  // OK, or Internal with part "kernel" and when to come again; the message names the
  // kernel and why.
  absl::Status Check(const Digest& place, absl::string_view name, absl::Time now);
  size_t size() const;

 private:
  struct Poison {
    std::string why;
    absl::Time until;
  };

  const absl::Duration refused_for_;
  const size_t limit_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Digest, Poison> poisons_ ABSL_GUARDED_BY(mutex_);
  std::deque<Digest> order_ ABSL_GUARDED_BY(mutex_);  // as they were added; each once
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_POISON_LIST_H_
