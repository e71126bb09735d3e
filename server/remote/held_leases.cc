#include "server/remote/held_leases.h"

#include <utility>
#include <vector>

#include "common/base/clock.h"

namespace kiln {

HeldLeases::HeldLeases(Leases* leases, absl::Duration ttl)
    : leases_(leases), ttl_(ttl), thread_([this] { Work(); }) {}

HeldLeases::~HeldLeases() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void HeldLeases::Hold(const Place& place, const std::string& token) {
  const absl::Time now = SteadyNow();
  absl::MutexLock lock(&mutex_);
  held_[token] = Lease{place, now, now + ttl_ / 3};
}

void HeldLeases::Release(const std::string& token, bool fruitless) {
  Place place;
  {
    absl::MutexLock lock(&mutex_);
    auto at = held_.find(token);
    if (at == held_.end()) return;
    place = at->second.place;
    held_.erase(at);
  }
  // After a failure the lease expires by itself.
  leases_->Release(place, token, fruitless).IgnoreError();
}

void HeldLeases::ReleaseAll() {
  std::vector<std::string> tokens;
  {
    absl::MutexLock lock(&mutex_);
    // Copied, as Release takes the lock and changes the map.
    for (const auto& [token, lease] : held_) tokens.push_back(token);
  }
  for (const std::string& token : tokens) Release(token);
}

// The thread that renews leases, each after a third of its duration, so that one failed renewal
// does no harm. A lease held for longer than kLongest is dropped: its compilation has failed
// without a report.
void HeldLeases::Work() {
  while (true) {
    std::vector<std::pair<std::string, Place>> due;
    {
      absl::MutexLock lock(&mutex_);
      auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !held_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      // Four looks for each renewal, so that it is late by a quarter at most.
      PauseUnless(stopping_, ttl_ / 12, &mutex_);
      if (stopping_) return;
      const absl::Time now = SteadyNow();
      for (auto at = held_.begin(); at != held_.end();) {
        auto lease = at++;
        if (now - lease->second.since > kLongest) {
          held_.erase(lease);
        } else if (now >= lease->second.renew) {
          lease->second.renew = now + ttl_ / 3;
          due.emplace_back(lease->first, lease->second.place);
        }
      }
    }
    // NotFound: another machine has taken the lease after it expired.
    for (const auto& [token, place] : due) {
      if (!absl::IsNotFound(leases_->Renew(place, token, ttl_))) continue;
      absl::MutexLock lock(&mutex_);
      held_.erase(token);
    }
  }
}

}  // namespace kiln
