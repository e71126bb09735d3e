// Stores put together, nearest first: a lookup asks each in turn and leaves
// what it found in those that lack it; what is stored goes to all.
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
  // The last tier is the one whose entries and bytes count: it holds them all.
  explicit TieredStore(std::vector<ArtifactStore*> tiers) : tiers_(std::move(tiers)) {}

  absl::string_view name() const override { return "tiers"; }
  Found Get(const Digest& key) override;
  // The same where the nearest tier answers alone, as memory does. A miss otherwise, which
  // says nothing: also once in a second for an entry that a farther tier has lost, since it is
  // Get that brings it back there.
  Found GetAtOnce(const Digest& key);
  // OK if any tier keeps it.
  absl::Status Put(const Digest& key, EntryPtr entry) override;
  bool Contains(const Digest& key) const override;
  void Remove(const Digest& key) override;
  StoreStats Clear() override;
  StoreStats stats() const override;

 private:
  // Whether farther tiers were asked for `key` in this second; from now on they were.
  bool AskedLately(const Digest& key);

  const std::vector<ArtifactStore*> tiers_;  // not owned
  // Marks of keys with the second in which farther tiers were asked for them.
  std::array<std::atomic<uint64_t>, 1024> asked_{};
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TIERED_STORE_H_
