// Several stores, nearest first: a look-up asks each in turn and stores what it finds in the nearer
// ones; Put stores in all.
#ifndef KILN_SERVER_CACHE_TIERED_STORE_H_
#define KILN_SERVER_CACHE_TIERED_STORE_H_

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "server/cache/artifact_store.h"

namespace kiln {

class TieredStore : public ArtifactStore {
 public:
  // Statistics count the last tier, which holds all entries.
  explicit TieredStore(std::vector<ArtifactStore*> tiers) : tiers_(std::move(tiers)) {}

  absl::string_view name() const override { return "tiers"; }
  Found Get(const Place& place) override;
  // The same for a nearest tier that answers without blocking (memory). A miss is inconclusive: the
  // entry may be in a farther tier. It also misses, at most once per second, for an entry that a
  // farther tier has lost, so that Get restores it there.
  Found GetAtOnce(const Place& place);
  // OK if any tier stores it.
  absl::Status Put(const Place& place, EntryPtr entry) override;
  bool Contains(const Place& place) const override;
  void Remove(const Place& place) override;
  StoreStats Clear() override;
  StoreStats stats() const override;

 private:
  // Whether farther tiers were asked for `place` within this second; marks them as asked.
  bool AskedLately(const Place& place);

  const std::vector<ArtifactStore*> tiers_;  // not owned
  // For each place, the second in which farther tiers were last asked.
  std::array<std::atomic<uint64_t>, 1024> asked_{};
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TIERED_STORE_H_
