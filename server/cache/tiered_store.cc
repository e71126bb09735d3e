#include "server/cache/tiered_store.h"

#include <cstring>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace kiln {

Found TieredStore::GetAtOnce(const Digest& key) {
  Found found = tiers_[0]->Get(key);
  if (found.entry == nullptr || AskedLately(key)) return found;
  for (size_t other = 1; other < tiers_.size(); ++other) {
    if (!tiers_[other]->Contains(key)) return {nullptr, name()};
  }
  return found;
}

bool TieredStore::AskedLately(const Digest& key) {
  uint64_t mark;
  std::memcpy(&mark, key.bytes.data(), sizeof mark);
  const size_t slot = mark % asked_.size();
  mark ^= static_cast<uint64_t>(absl::ToUnixSeconds(SteadyNow())) << 10;
  return asked_[slot].exchange(mark, std::memory_order_relaxed) == mark;
}

Found TieredStore::Get(const Digest& key) {
  for (size_t i = 0; i < tiers_.size(); ++i) {
    Found found = tiers_[i]->Get(key);
    if (found.entry == nullptr) continue;
    // Also stores in farther tiers: restores a file that a client deleted as damaged.
    for (size_t other = 0; other < tiers_.size(); ++other) {
      if (other < i || (other > i && !tiers_[other]->Contains(key))) {
        tiers_[other]->Put(key, found.entry).IgnoreError();
      }
    }
    return found;
  }
  return {nullptr, name()};
}

absl::Status TieredStore::Put(const Digest& key, EntryPtr entry) {
  absl::Status failure = absl::OkStatus();
  bool kept = false;
  for (ArtifactStore* tier : tiers_) {
    absl::Status status = tier->Put(key, entry);
    if (status.ok()) {
      kept = true;
    } else {
      failure.Update(status);
    }
  }
  return kept ? absl::OkStatus() : failure;
}

bool TieredStore::Contains(const Digest& key) const {
  for (const ArtifactStore* tier : tiers_) {
    if (tier->Contains(key)) return true;
  }
  return false;
}

void TieredStore::Remove(const Digest& key) {
  for (ArtifactStore* tier : tiers_) tier->Remove(key);
}

StoreStats TieredStore::Clear() {
  StoreStats removed;
  for (ArtifactStore* tier : tiers_) removed = tier->Clear();
  return removed;
}

StoreStats TieredStore::stats() const {
  StoreStats sum;
  for (const ArtifactStore* tier : tiers_) {
    const StoreStats one = tier->stats();
    sum.entries = one.entries;
    sum.bytes = one.bytes;
    sum.corrupt += one.corrupt;
    sum.evictions = one.evictions;
  }
  return sum;
}

}  // namespace kiln
