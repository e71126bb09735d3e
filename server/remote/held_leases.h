// The leases that we hold, kept alive as long as we live.
#ifndef KILN_SERVER_REMOTE_HELD_LEASES_H_
#define KILN_SERVER_REMOTE_HELD_LEASES_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Renews each lease three times in its time to live. Thread-safe.
class HeldLeases {
 public:
  // No lease is held longer than this, whoever forgot it.
  static constexpr absl::Duration kLongest = absl::Minutes(10);

  HeldLeases(Leases* leases, absl::Duration ttl);  // `leases` is not owned
  // Lets go of nothing: see ReleaseAll.
  ~HeldLeases();

  // `token` is what Leases::Acquire gave.
  void Hold(const Digest& place, const std::string& token);
  // Unknown tokens are none of ours any more. `fruitless`: see Leases.
  void Release(const std::string& token, bool fruitless = false);
  void ReleaseAll();

 private:
  struct Lease {
    Digest place;
    absl::Time since;
    absl::Time renew;
  };

  void Work();

  Leases* const leases_;
  const absl::Duration ttl_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Lease> held_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_HELD_LEASES_H_
