// The leases that this process holds; renewed as long as it lives.
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
  // The longest time that a lease is held, even if its holder never releases it.
  static constexpr absl::Duration kLongest = absl::Minutes(10);

  HeldLeases(Leases* leases, absl::Duration ttl);  // `leases` is not owned
  // Releases nothing: see ReleaseAll.
  ~HeldLeases();

  // `token` comes from Leases::Acquire.
  void Hold(const Place& place, const std::string& token);
  // Unknown tokens are leases that ended already. `fruitless`: see Leases.
  void Release(const std::string& token, bool fruitless = false);
  void ReleaseAll();

 private:
  struct Lease {
    Place place;
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
