#include "server/daemon/workers/shares.h"

#include <algorithm>
#include <iterator>

namespace kiln {
namespace {

// How long after its last job a caller counts as active: a program's next kernel may follow.
constexpr absl::Duration kMayCome = absl::Seconds(5);

}  // namespace

bool Shares::State::Around(absl::Time now) const {
  return waiting > 0 || running > 0 || now - seen < kMayCome;
}

Shares::State& Shares::Seen(const JobOwner& owner, absl::Time now) {
  const auto found = tenants_.find(owner.tenant);
  if (found == tenants_.end() || found->second.find(owner.caller) == found->second.end()) {
    // Removes inactive callers when a new one arrives, which is rare enough.
    for (auto tenant = tenants_.begin(); tenant != tenants_.end();) {
      Callers& callers = tenant->second;
      for (auto caller = callers.begin(); caller != callers.end();) {
        caller = caller->second.Around(now) ? std::next(caller) : callers.erase(caller);
      }
      tenant = callers.empty() ? tenants_.erase(tenant) : std::next(tenant);
    }
  }
  State& state = tenants_[owner.tenant][owner.caller];
  state.seen = now;
  return state;
}

void Shares::Began(const JobOwner& owner, absl::Time now) {
  State& state = Seen(owner, now);
  --state.waiting;
  ++state.running;
}

Shares::State Shares::Sum(const Callers& callers) {
  State sum;
  for (const auto& [caller, state] : callers) {
    sum.waiting += state.waiting;
    sum.running += state.running;
    sum.seen = std::max(sum.seen, state.seen);
  }
  return sum;
}

bool Shares::May(const JobOwner& owner, absl::Time now) const {
  for (const auto& [tenant, callers] : tenants_) {
    if (tenant != owner.tenant) continue;
    if (Sum(callers).running >= most_ && several_tenants(now)) return false;
    const auto own = callers.find(owner.caller);
    if (own == callers.end() || own->second.running < most_) return true;
    return std::none_of(callers.begin(), callers.end(), [&](const auto& caller) {
      return caller.first != owner.caller && caller.second.Around(now);
    });
  }
  return true;
}

bool Shares::several_tenants(absl::Time now) const {
  return std::count_if(tenants_.begin(), tenants_.end(),
                       [&](const auto& tenant) { return Sum(tenant.second).Around(now); }) > 1;
}

}  // namespace kiln
