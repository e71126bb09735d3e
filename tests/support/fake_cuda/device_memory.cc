#include "tests/support/fake_cuda/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace kiln::fake_cuda {
namespace {

constexpr uint64_t kAlign = 512, kGap = 512, kPage = 4096;
constexpr uint64_t kClearedAsPages = uint64_t{1} << 20;
constexpr uint64_t kMostGarbage = uint64_t{64} << 20;  // more would take too long to write

uint64_t AlignUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

bool Covers(const std::map<uint64_t, uint64_t>& ranges, uint64_t address, uint64_t bytes) {
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin()) return false;
  const auto& [begin, size] = *--after;
  return address - begin <= size && bytes <= size - (address - begin);
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t capacity) : capacity_(capacity), space_(capacity * 8) {
  void* reserved =
      mmap(nullptr, space_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  void* mapped = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(space_)) == 0) {
    mapped = mmap(nullptr, space_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (reserved == MAP_FAILED || mapped == MAP_FAILED) {
    std::perror("fake CUDA: cannot reserve addresses");
    std::abort();
  }
  close(file);
  reserved_ = static_cast<uint8_t*>(reserved);
  mapped_ = static_cast<uint8_t*>(mapped);
}

DeviceMemory::~DeviceMemory() {
  munmap(reserved_, space_);
  munmap(mapped_, space_);
}

uint64_t DeviceMemory::Allocate(uint64_t bytes, const void* owner) {
  const uint64_t size = AlignUp(std::max<uint64_t>(bytes, 1), kAlign) + kGap;
  if (bytes > capacity_ || used_ + bytes > capacity_) return 0;
  const auto base = reinterpret_cast<uint64_t>(reserved_);
  uint64_t at = next_;
  if (at + size > space_) {  // from the beginning, where others were freed
    at = 0;
    for (const auto& [address, taken] : allocations_) {
      if (address - base >= at + size) break;
      at = AlignUp(address - base + taken, kAlign) + kGap;
    }
    if (at + size > space_) return 0;
  } else {
    next_ = at + size;
  }
  std::memset(mapped_ + at, 0xa5, std::min(bytes, kMostGarbage));
  allocations_[base + at] = bytes;
  owners_[base + at] = owner;
  unwritten_.Add(base + at, bytes);
  used_ += bytes;
  return base + at;
}

bool DeviceMemory::Free(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  const uint64_t offset = address - reinterpret_cast<uint64_t>(reserved_);
  const uint64_t begin = AlignUp(offset, kPage);
  const uint64_t end = (offset + found->second) / kPage * kPage;
  if (begin < end) madvise(mapped_ + begin, end - begin, MADV_REMOVE);
  unwritten_.Remove(address, found->second);
  used_ -= found->second;
  allocations_.erase(found);
  owners_.erase(address);
  return true;
}

void DeviceMemory::Clear(uint8_t* at, uint64_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(at);
  const uint64_t begin = AlignUp(address, kPage), end = (address + bytes) / kPage * kPage;
  if (begin >= end || end - begin < kClearedAsPages ||
      madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE) != 0) {
    std::memset(at, 0, bytes);
    return;
  }
  std::memset(at, 0, begin - address);
  std::memset(reinterpret_cast<void*>(end), 0, address + bytes - end);
}

void DeviceMemory::AddHost(void* at, uint64_t bytes) {
  host_[reinterpret_cast<uint64_t>(at)] = bytes;
}

bool DeviceMemory::RemoveHost(void* at) { return host_.erase(reinterpret_cast<uint64_t>(at)) != 0; }

bool DeviceMemory::IsHost(const void* at, uint64_t bytes) const {
  return Covers(host_, reinterpret_cast<uint64_t>(at), bytes);
}

uint8_t* DeviceMemory::Find(uint64_t address, uint64_t bytes) const {
  if (Covers(host_, address, bytes)) return reinterpret_cast<uint8_t*>(address);
  if (!Covers(allocations_, address, bytes)) return nullptr;
  return mapped_ + (address - reinterpret_cast<uint64_t>(reserved_));
}

void DeviceMemory::NoteWrite(const uint8_t* at, uint64_t bytes) {
  if (at < mapped_ || at >= mapped_ + space_) return;  // the host's
  unwritten_.Remove(reinterpret_cast<uint64_t>(reserved_) + (at - mapped_), bytes);
}

const void* DeviceMemory::OwnerOf(uint64_t address) const {
  if (!Covers(allocations_, address, 1)) return nullptr;
  return std::prev(owners_.upper_bound(address))->second;
}

std::vector<Interval> DeviceMemory::Intervals(const void* owner) const {
  std::vector<Interval> all;
  all.reserve(allocations_.size() + host_.size());
  const uint64_t shift =
      reinterpret_cast<uint64_t>(mapped_) - reinterpret_cast<uint64_t>(reserved_);
  for (const auto& [begin, bytes] : allocations_) {
    if (owners_.at(begin) == owner) all.push_back({begin, begin + bytes, shift});
  }
  for (const auto& [begin, bytes] : host_) all.push_back({begin, begin + bytes, 0});
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return all;
}

}  // namespace kiln::fake_cuda
