// Entries kept in this process, least recently used out first.
#ifndef KILN_SERVER_CACHE_MEMORY_STORE_H_
#define KILN_SERVER_CACHE_MEMORY_STORE_H_

#include <list>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/cache/artifact_store.h"

namespace kiln {

class MemoryStore : public ArtifactStore {
 public:
  explicit MemoryStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  absl::string_view name() const override { return "memory"; }
  Found Get(const Digest& key) override;
  // An entry over a quarter of the budget is not kept: it would empty the tier.
  absl::Status Put(const Digest& key, EntryPtr entry) override;
  bool Contains(const Digest& key) const override;
  void Remove(const Digest& key) override;
  StoreStats Clear() override;
  StoreStats stats() const override;

 private:
  using Order = std::list<std::pair<Digest, EntryPtr>>;  // most recent first

  void Erase(Order::iterator item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  mutable absl::Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Digest, Order::iterator> index_ ABSL_GUARDED_BY(mutex_);
  StoreStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_MEMORY_STORE_H_
