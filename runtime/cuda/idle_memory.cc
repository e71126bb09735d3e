#include "runtime/cuda/idle_memory.h"

#include <cstddef>

namespace kiln::cuda {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr size_t kMostBlocks = 1024;  // few, since they are searched one by one

}  // namespace

Address IdleMemory::Take(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = blocks_.size(); i-- > 0;) {
    const auto [size, memory] = blocks_[i];
    if (size != bytes) continue;
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
    bytes_ -= size;
    return memory;
  }
  return 0;
}

bool IdleMemory::Put(Address memory, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_.push_back({bytes, memory});
  bytes_ += bytes;
  return bytes_ <= kMostBytes && blocks_.size() <= kMostBlocks;
}

std::vector<Address> IdleMemory::TakeAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Address> all;
  all.reserve(blocks_.size());
  for (const Block& block : blocks_) all.push_back(block.memory);
  blocks_.clear();
  bytes_ = 0;
  return all;
}

uint64_t IdleMemory::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace kiln::cuda
