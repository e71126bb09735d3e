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

DeviceMemory::DeviceMemory(uint64_t capacity)
    : capacity_(capacity),
      space_(AlignUp(capacity * 8, kStep)),
      virtual_(AlignUp(capacity * 64, kStep)) {
  const uint64_t all = space_ + virtual_;
  void* reserved =
      mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  void* mapped = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(all)) == 0) {
    mapped = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
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
  munmap(reserved_, space_ + virtual_);
  munmap(mapped_, space_ + virtual_);
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
  if (!Covers(allocations_, address, bytes) && !Covers(windows_, address, bytes)) return nullptr;
  return Mirror(address);
}

void DeviceMemory::NoteWrite(const uint8_t* at, uint64_t bytes) {
  if (at < mapped_ || at >= mapped_ + space_ + virtual_) return;  // the host's
  unwritten_.Remove(reinterpret_cast<uint64_t>(reserved_) + (at - mapped_), bytes);
}

const void* DeviceMemory::OwnerOf(uint64_t address) const {
  if (Covers(windows_, address, 1)) return std::prev(window_owners_.upper_bound(address))->second;
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
  for (const auto& [begin, bytes] : windows_) {
    if (window_owners_.at(begin) == owner) all.push_back({begin, begin + bytes, shift});
  }
  for (const auto& [begin, bytes] : host_) all.push_back({begin, begin + bytes, 0});
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return all;
}

// --- Virtual memory

uint64_t DeviceMemory::Reserve(uint64_t bytes) {
  const uint64_t first = AlignUp(reinterpret_cast<uint64_t>(reserved_) + space_, kStep);
  const uint64_t end = reinterpret_cast<uint64_t>(reserved_) + space_ + virtual_;
  uint64_t at = first + virtual_next_;
  if (at > end || bytes + kStep > end - at) {  // from the beginning, where others were freed
    at = first;
    for (const auto& [address, taken] : reservations_) {
      if (address - at >= bytes + kStep && address >= at) break;
      at = address + taken + kStep;
    }
    if (at > end || bytes + kStep > end - at) return 0;
  } else {
    virtual_next_ = at + bytes + kStep - first;
  }
  reservations_[at] = bytes;
  return at;
}

std::string DeviceMemory::Unreserve(uint64_t address, uint64_t bytes) {
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != bytes) return "it is no reservation";
  const auto mapped = mappings_.lower_bound(address);
  if (mapped != mappings_.end() && mapped->first < address + bytes) {
    return "memory is still mapped there";
  }
  reservations_.erase(found);
  return "";
}

uint64_t DeviceMemory::Create(uint64_t bytes) {
  if (bytes > capacity_ || used_ + bytes > capacity_) return 0;
  used_ += bytes;
  memories_[++last_handle_] = {bytes, /*released=*/false, /*mapped=*/false};
  return last_handle_;
}

void DeviceMemory::FreeIfUnused(uint64_t handle) {
  const Memory& memory = memories_.at(handle);
  if (!memory.released || memory.mapped) return;
  used_ -= memory.bytes;
  memories_.erase(handle);
}

std::string DeviceMemory::Release(uint64_t handle) {
  const auto found = memories_.find(handle);
  if (found == memories_.end() || found->second.released) return "there is no such memory";
  found->second.released = true;
  FreeIfUnused(handle);
  return "";
}

std::string DeviceMemory::Map(uint64_t address, uint64_t bytes, uint64_t handle) {
  const auto memory = memories_.find(handle);
  if (memory == memories_.end() || memory->second.released) return "there is no such memory";
  if (memory->second.bytes != bytes) return "the memory has another size";
  if (memory->second.mapped) return "the emulator maps memory at one place only";
  if (!Covers(reservations_, address, bytes)) return "the addresses are not reserved";
  const auto after = mappings_.lower_bound(address + bytes);
  if (after != mappings_.begin()) {
    const auto& [begin, mapping] = *std::prev(after);
    if (begin + mapping.bytes > address) return "memory is mapped there already";
  }
  memory->second.mapped = true;
  mappings_[address] = {bytes, handle, nullptr};
  std::memset(Mirror(address), 0xa5, std::min(bytes, kMostGarbage));
  unwritten_.Add(address, bytes);
  return "";
}

bool DeviceMemory::IsMapped(uint64_t address, uint64_t bytes) const {
  uint64_t at = address;
  for (auto next = mappings_.find(at); next != mappings_.end() && at < address + bytes;
       next = mappings_.find(at)) {
    at += next->second.bytes;
  }
  return bytes > 0 && at == address + bytes;
}

std::string DeviceMemory::Unmap(uint64_t address, uint64_t bytes) {
  if (!IsMapped(address, bytes)) return "it is not all of what was mapped there";
  for (uint64_t at = address; at < address + bytes;) {
    const Mapping mapping = mappings_.at(at);
    madvise(Mirror(at), mapping.bytes, MADV_REMOVE);
    unwritten_.Remove(at, mapping.bytes);
    memories_.at(mapping.handle).mapped = false;
    FreeIfUnused(mapping.handle);
    mappings_.erase(at);
    at += mapping.bytes;
  }
  FindWindows();
  return "";
}

std::string DeviceMemory::SetAccess(uint64_t address, uint64_t bytes, const void* owner) {
  if (!IsMapped(address, bytes)) return "it is not all of what was mapped there";
  for (auto at = mappings_.find(address); at != mappings_.end() && at->first < address + bytes;
       ++at) {
    at->second.owner = owner;
  }
  FindWindows();
  return "";
}

void DeviceMemory::FindWindows() {
  windows_.clear();
  window_owners_.clear();
  for (const auto& [begin, mapping] : mappings_) {
    if (mapping.owner == nullptr) continue;
    const auto last = windows_.empty() ? windows_.end() : std::prev(windows_.end());
    // A gap parts reservations.
    if (last != windows_.end() && last->first + last->second == begin &&
        window_owners_.at(last->first) == mapping.owner) {
      last->second += mapping.bytes;
      continue;
    }
    windows_[begin] = mapping.bytes;
    window_owners_[begin] = mapping.owner;
  }
}

std::vector<Gap> DeviceMemory::Gaps() const {
  std::vector<Gap> gaps;
  for (const auto& [begin, bytes] : reservations_) {
    const std::string of = " in a reservation of " + std::to_string(bytes) + " bytes";
    uint64_t at = begin;
    for (auto next = mappings_.lower_bound(begin);
         next != mappings_.end() && next->first < begin + bytes; ++next) {
      if (at < next->first) gaps.push_back({at, next->first, "nothing is mapped there," + of});
      at = next->first + next->second.bytes;
      if (next->second.owner == nullptr) {
        gaps.push_back({next->first, at, "mapped without cuMemSetAccess," + of});
      }
    }
    if (at < begin + bytes) gaps.push_back({at, begin + bytes, "nothing is mapped there," + of});
  }
  return gaps;
}

}  // namespace kiln::fake_cuda
