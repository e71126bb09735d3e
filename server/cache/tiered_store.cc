#include "server/cache/tiered_store.h"

#include <cstring>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace kiln {

Found TieredStore::GetAtOnce(const Place& place) {
  Found found = tiers_[0]->Get(place);
  // A memory hit must not outlive its file: another process may have cleared the cache. Asking the
  // disk at every hit would cost a system call, so each place is asked once a second.
  if (found.entry == nullptr || AskedLately(place)) return found;
  for (size_t other = 1; other < tiers_.size(); ++other) {
    // Not an eviction: Get then asks all tiers in order and restores the file.
    if (!tiers_[other]->Contains(place)) return {nullptr, name()};
  }
  return found;
}

bool TieredStore::AskedLately(const Place& place) {
  uint64_t mark;
  // A small table without locks, by place and second. Two places in one slot ask the disk more
  // often.
  std::memcpy(&mark, place.bytes.data(), sizeof mark);
  const size_t slot = mark % asked_.size();
  mark ^= static_cast<uint64_t>(absl::ToUnixSeconds(SteadyNow())) << 10;
  return asked_[slot].exchange(mark, std::memory_order_relaxed) == mark;
}

Found TieredStore::Get(const Place& place) {
  for (size_t i = 0; i < tiers_.size(); ++i) {
    Found found = tiers_[i]->Get(place);
    if (found.entry == nullptr) continue;
    // Also stores in farther tiers: restores a file that a client deleted as damaged.
    for (size_t other = 0; other < tiers_.size(); ++other) {
      if (other < i || (other > i && !tiers_[other]->Contains(place))) {
        tiers_[other]->Put(place, found.entry).IgnoreError();
      }
    }
    return found;
  }
  return {nullptr, name()};
}

absl::Status TieredStore::Put(const Place& place, EntryPtr entry) {
  absl::Status failure = absl::OkStatus();
  // One tier that keeps the entry is enough: the others then only cost speed.
  bool kept = false;
  for (ArtifactStore* tier : tiers_) {
    absl::Status status = tier->Put(place, entry);
    if (status.ok()) {
      kept = true;
    } else {
      failure.Update(status);
    }
  }
  return kept ? absl::OkStatus() : failure;
}

bool TieredStore::Contains(const Place& place) const {
  for (const ArtifactStore* tier : tiers_) {
    if (tier->Contains(place)) return true;
  }
  return false;
}

void TieredStore::Remove(const Place& place) {
  for (ArtifactStore* tier : tiers_) tier->Remove(place);
}

StoreStats TieredStore::Clear() {
  StoreStats removed;
  // The last tier has every entry, so its count is the user's.
  for (ArtifactStore* tier : tiers_) removed = tier->Clear();
  return removed;
}

StoreStats TieredStore::stats() const {
  StoreStats sum;
  for (const ArtifactStore* tier : tiers_) {
    const StoreStats one = tier->stats();
    // Entries and bytes are those of the last tier; only damage is counted in all of them.
    sum.entries = one.entries;
    sum.bytes = one.bytes;
    sum.corrupt += one.corrupt;
    sum.evictions = one.evictions;
  }
  return sum;
}

}  // namespace kiln
