// Entries in this process's memory; evicts the least recently used first.
//
// Places are distributed over shards, each with its own lock and order, so that look-ups of
// different places do not contend. All shards share one budget: an insertion that exceeds it evicts
// the least recently used entry of all shards.
#ifndef KILN_SERVER_CACHE_MEMORY_STORE_H_
#define KILN_SERVER_CACHE_MEMORY_STORE_H_

#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/cache/artifact_store.h"

namespace kiln {

class MemoryStore : public ArtifactStore {
 public:
  // `taken_back` is called when an entry is removed or replaced, but not when it is evicted.
  explicit MemoryStore(
      uint64_t max_bytes, std::function<void()> taken_back = [] {})
      : max_bytes_(max_bytes), taken_back_(std::move(taken_back)) {}

  absl::string_view name() const override { return "memory"; }
  Found Get(const Place& place) override;
  // Does not store an entry over a quarter of the budget: it would evict nearly everything.
  absl::Status Put(const Place& place, EntryPtr entry) override;
  bool Contains(const Place& place) const override;
  void Remove(const Place& place) override;
  StoreStats Clear() override;
  // Drops all entries and stores none from now on.
  void Close();
  StoreStats stats() const override;

 private:
  static constexpr int64_t kNever = INT64_MAX;

  struct Item {
    Place place;
    EntryPtr entry;
    int64_t used;  // nanoseconds of the steady clock
  };
  using Order = std::list<Item>;  // most recent first

  struct ABSL_CACHELINE_ALIGNED Shard {
    mutable absl::Mutex mutex;
    Order order ABSL_GUARDED_BY(mutex);
    absl::flat_hash_map<Place, Order::iterator> index ABSL_GUARDED_BY(mutex);
    // The last use of its least recently used item; readable without the lock.
    std::atomic<int64_t> oldest{kNever};
  };
  static constexpr int kShards = 32;

  Shard& ShardOf(const Place& place) { return shards_[place.bytes[31] % kShards]; }
  const Shard& ShardOf(const Place& place) const { return shards_[place.bytes[31] % kShards]; }
  void NoteOldest(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  // Returns the item's size.
  uint64_t Erase(Shard* shard, Order::iterator item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  // False: there is nothing to evict.
  bool DropOldest();

  std::atomic<uint64_t> max_bytes_;  // 0: closed
  const std::function<void()> taken_back_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint64_t> evictions_{0};
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_MEMORY_STORE_H_
