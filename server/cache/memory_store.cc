#include "server/cache/memory_store.h"

#include <chrono>
#include <utility>

namespace kiln {
namespace {

int64_t Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

Found MemoryStore::Get(const Place& place) {
  Shard& shard = ShardOf(place);
  absl::MutexLock lock(&shard.mutex);
  auto it = shard.index.find(place);
  if (it == shard.index.end()) return {nullptr, name()};
  it->second->used = Now();
  // Moves the list's node: no allocation on a hit.
  shard.order.splice(shard.order.begin(), shard.order, it->second);
  NoteOldest(&shard);
  return {it->second->entry, name()};
}

absl::Status MemoryStore::Put(const Place& place, EntryPtr entry) {
  const uint64_t size = entry->bytes.size();
  // Also the end of Close: with a budget of 0 nothing is stored.
  if (size > max_bytes_ / 4) return absl::OkStatus();
  // Through Remove, because a replaced entry also counts as taken back: a front may hold the old
  // one.
  Remove(place);
  // Reserves room first: concurrent insertions must not use the same room.
  bytes_ += size;
  while (bytes_ > max_bytes_ && DropOldest()) {
  }
  Shard& shard = ShardOf(place);
  absl::MutexLock lock(&shard.mutex);
  // Another thread may have stored the same place since Remove.
  if (auto it = shard.index.find(place); it != shard.index.end()) Erase(&shard, it->second);
  shard.order.push_front(Item{place, std::move(entry), Now()});
  shard.index[place] = shard.order.begin();
  ++entries_;
  NoteOldest(&shard);
  return absl::OkStatus();
}

bool MemoryStore::Contains(const Place& place) const {
  const Shard& shard = ShardOf(place);
  absl::MutexLock lock(&shard.mutex);
  return shard.index.contains(place);
}

void MemoryStore::Remove(const Place& place) {
  {
    Shard& shard = ShardOf(place);
    absl::MutexLock lock(&shard.mutex);
    const auto it = shard.index.find(place);
    if (it == shard.index.end()) return;
    Erase(&shard, it->second);
  }
  taken_back_();
}

StoreStats MemoryStore::Clear() {
  StoreStats removed;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    while (!shard.order.empty()) {
      removed.bytes += Erase(&shard, shard.order.begin());
      ++removed.entries;
    }
  }
  taken_back_();
  return removed;
}

void MemoryStore::Close() {
  // First, so that later calls of Put store nothing.
  max_bytes_ = 0;
  Clear();
}

StoreStats MemoryStore::stats() const {
  StoreStats stats;
  stats.entries = entries_;
  stats.bytes = bytes_;
  stats.evictions = evictions_;
  return stats;
}

bool MemoryStore::DropOldest() {
  Shard* oldest = nullptr;
  int64_t when = kNever;
  for (Shard& shard : shards_) {
    // Compares the shards' oldest items without their locks. A use in between makes the choice
    // slightly wrong, never unsafe.
    const int64_t used = shard.oldest.load(std::memory_order_relaxed);
    if (used < when) {
      when = used;
      oldest = &shard;
    }
  }
  if (oldest == nullptr) return false;
  absl::MutexLock lock(&oldest->mutex);
  // Another thread may have used it since, or emptied the shard: the next round sees that.
  if (oldest->order.empty()) return true;
  Erase(oldest, std::prev(oldest->order.end()));
  ++evictions_;
  return true;
}

void MemoryStore::NoteOldest(Shard* shard) {
  shard->oldest.store(shard->order.empty() ? kNever : shard->order.back().used,
                      std::memory_order_relaxed);
}

uint64_t MemoryStore::Erase(Shard* shard, Order::iterator item) {
  const uint64_t size = item->entry->bytes.size();
  bytes_ -= size;
  --entries_;
  shard->index.erase(item->place);
  shard->order.erase(item);
  NoteOldest(shard);
  return size;
}

}  // namespace kiln
