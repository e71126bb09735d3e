#include "tests/support/fake_cuda/access_checks.h"

#include <algorithm>
#include <iterator>

namespace kiln::fake_cuda {

void UnwrittenBytes::Add(uint64_t begin, uint64_t bytes) {
  Remove(begin, bytes);
  const std::lock_guard<std::mutex> guard(lock_);
  if (bytes > 0) ranges_[begin] = begin + bytes;
}

void UnwrittenBytes::Remove(uint64_t begin, uint64_t bytes) {
  const uint64_t end = begin + bytes;
  const std::lock_guard<std::mutex> guard(lock_);
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [from, to] = *range;
    range = ranges_.erase(range);
    if (from < begin) ranges_[from] = begin;
    if (to > end) ranges_[end] = to;
  }
}

bool UnwrittenBytes::HasAny(uint64_t begin, uint64_t bytes) const {
  const std::lock_guard<std::mutex> guard(lock_);
  const auto after = ranges_.lower_bound(begin + bytes);
  return after != ranges_.begin() && std::prev(after)->second > begin;
}

void RaceChecks::NoteFence(uint32_t block) {
  const std::lock_guard<std::mutex> guard(fences_lock_);
  fences_[block].push_back(++time_);
}

// Whether something orders the first access, which came before, and the second. A fence after the
// first one and a later one before the second are taken for a release and its acquire.
bool RaceChecks::AreOrdered(const SeenAccess& first, const SeenAccess& second) const {
  if (first.block == second.block) {
    if (first.block_epoch != second.block_epoch) return true;
    if (first.warp == second.warp && first.warp_epoch != second.warp_epoch) return true;
  }
  const std::lock_guard<std::mutex> guard(fences_lock_);
  const std::vector<uint32_t>& released = fences_[first.block];
  const std::vector<uint32_t>& acquired = fences_[second.block];
  const auto release = std::upper_bound(released.begin(), released.end(), first.time);
  return release != released.end() && !acquired.empty() && acquired.back() > *release;
}

bool RaceChecks::Note(SeenByte* byte, AccessKind kind, const SeenAccess& access, Race* race) const {
  const auto races_with = [&](const SeenAccess& other) {
    return other.thread != ~0u && other.thread != access.thread &&
           !(other.is_atomic && access.is_atomic) && !AreOrdered(other, access);
  };
  bool found = false;
  if (races_with(byte->write)) {
    *race = {byte->write, /*is_write=*/true};
    found = true;
  }
  if (kind == AccessKind::kRead) {
    if (byte->reads[0].thread != access.thread) byte->reads[1] = byte->reads[0];
    byte->reads[0] = access;
    return found;
  }
  for (const SeenAccess& read : byte->reads) {
    if (found || !races_with(read)) continue;
    *race = {read, /*is_write=*/false};
    found = true;
  }
  byte->write = access;
  return found;
}

bool RaceChecks::NoteGlobal(uint64_t address, uint64_t bytes, AccessKind kind,
                            const SeenAccess& access, Race* race) {
  bool found = false;
  for (uint64_t at = address; at < address + bytes; ++at) {
    Shard& shard = shards_[at / kPage % kShards];
    const std::lock_guard<std::mutex> guard(shard.lock);
    auto& page = shard.pages[at / kPage];
    if (page == nullptr) page = std::make_unique<std::array<SeenByte, kPage>>();
    found |= Note(&(*page)[at % kPage], kind, access, race);
  }
  return found;
}

void AccessChecks::Report(uint32_t line, uint32_t other_line, const std::string& text) {
  const std::lock_guard<std::mutex> guard(lock);
  if (reported.insert({line, other_line}).second) print(text);
}

}  // namespace kiln::fake_cuda
