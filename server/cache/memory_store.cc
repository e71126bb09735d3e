#include "server/cache/memory_store.h"

#include <utility>

namespace kiln {

Found MemoryStore::Get(const Digest& key) {
  absl::MutexLock lock(&mutex_);
  auto it = index_.find(key);
  if (it == index_.end()) return {nullptr, name()};
  order_.splice(order_.begin(), order_, it->second);
  return {it->second->second, name()};
}

absl::Status MemoryStore::Put(const Digest& key, EntryPtr entry) {
  const uint64_t size = entry->bytes.size();
  if (size > max_bytes_ / 4) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  if (auto it = index_.find(key); it != index_.end()) Erase(it->second);
  while (!order_.empty() && stats_.bytes + size > max_bytes_) {
    Erase(std::prev(order_.end()));
    ++stats_.evictions;
  }
  order_.emplace_front(key, std::move(entry));
  index_[key] = order_.begin();
  stats_.bytes += size;
  ++stats_.entries;
  return absl::OkStatus();
}

bool MemoryStore::Contains(const Digest& key) const {
  absl::MutexLock lock(&mutex_);
  return index_.contains(key);
}

void MemoryStore::Remove(const Digest& key) {
  absl::MutexLock lock(&mutex_);
  if (auto it = index_.find(key); it != index_.end()) Erase(it->second);
}

StoreStats MemoryStore::Clear() {
  absl::MutexLock lock(&mutex_);
  StoreStats removed = stats_;
  order_.clear();
  index_.clear();
  stats_.entries = stats_.bytes = 0;
  return removed;
}

StoreStats MemoryStore::stats() const {
  absl::MutexLock lock(&mutex_);
  return stats_;
}

void MemoryStore::Erase(Order::iterator item) {
  stats_.bytes -= item->second->bytes.size();
  --stats_.entries;
  index_.erase(item->first);
  order_.erase(item);
}

}  // namespace kiln
