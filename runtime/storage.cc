#include "runtime/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace kiln {
namespace {

constexpr uint64_t kPage = 4096, kHugePage = uint64_t{2} << 20;
// Allocations of at least this size come from the system in pages, zeroed and returnable.
constexpr uint64_t kMapFrom = uint64_t{64} << 10;
constexpr uint64_t kAlignment = 64;

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Zeroed memory on either side that absorbs stray accesses: programs read one row beyond a field's
// border. Without bounds checks that must neither end the process nor read malloc's data. An eighth
// covers a row of any field of at least eight rows; of mapped memory it costs addresses, not pages.
uint64_t MarginOf(uint64_t bytes) {
  if (bytes < kMapFrom) return RoundUp(std::min(bytes, kPage), kAlignment);
  const uint64_t margin = std::clamp(bytes / 8, kMapFrom, uint64_t{64} << 20);
  return RoundUp(margin, bytes >= kHugePage ? kHugePage : kPage);
}

// Of an allocation that is not mapped. One line more than requested: vector loads of the last
// elements stay inside.
uint64_t SizeOf(uint64_t bytes) {
  return RoundUp(bytes, kAlignment) + kAlignment + 2 * MarginOf(bytes);
}

Error Refused(uint64_t bytes) {
  return {ErrorCode::kResourceExhausted, "cannot allocate " + std::to_string(bytes) + " bytes (" +
                                             std::to_string(bytes >> 20) + " MiB) for fields"};
}

// Maps `size` bytes at a multiple of `alignment`; null if refused.
uint8_t* Map(uint64_t size, uint64_t alignment) {
  // mmap aligns to pages only. Map more, then return what is before and after the aligned part.
  const uint64_t whole = size + (alignment > kPage ? alignment : 0);
  void* raw = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = RoundUp(start, alignment);
  if (aligned != start) munmap(raw, aligned - start);
  uintptr_t end = start + whole;
  if (end != aligned + size) munmap(reinterpret_cast<void*>(aligned + size), end - aligned - size);
  return reinterpret_cast<uint8_t*>(aligned);
}

// Mappings of freed buffers, for buffers of the same size: a new one costs a page fault for each
// page, ten times what it takes to clear that. Each slot is taken and given as a whole, so threads
// need no lock, and a forked child finds all slots in order.
constexpr size_t kMostIdle = 8;
std::atomic<uint8_t*> idle[kMostIdle];
std::atomic<uint32_t> next_replaced{0};

// An idle mapping begins with its size, in its first margin.
uint64_t& SizeOfIdle(uint8_t* start) { return *reinterpret_cast<uint64_t*>(start); }

// Larger ones would keep much memory, and have few pages for their size.
bool StaysIdle(uint64_t bytes) { return bytes >= kMapFrom && bytes < kHugePage; }

// A mapping of `whole` bytes; null if there is none.
uint8_t* TakeIdle(uint64_t whole) {
  for (std::atomic<uint8_t*>& slot : idle) {
    uint8_t* start = slot.exchange(nullptr, std::memory_order_acq_rel);
    if (start == nullptr) continue;
    if (SizeOfIdle(start) == whole) return start;
    // Another thread may have filled the slot meanwhile.
    start = slot.exchange(start, std::memory_order_acq_rel);
    if (start != nullptr) munmap(start, SizeOfIdle(start));
  }
  return nullptr;
}

void KeepIdle(uint8_t* start, uint64_t whole) {
  SizeOfIdle(start) = whole;
  for (std::atomic<uint8_t*>& slot : idle) {
    uint8_t* empty = nullptr;
    if (slot.compare_exchange_strong(empty, start, std::memory_order_acq_rel)) return;
  }
  const uint32_t next = next_replaced.fetch_add(1, std::memory_order_relaxed);
  start = idle[next % kMostIdle].exchange(start, std::memory_order_acq_rel);
  if (start != nullptr) munmap(start, SizeOfIdle(start));
}

}  // namespace

Result<std::unique_ptr<RootBuffer>> RootBuffer::Allocate(uint64_t bytes, const HostMemory& from,
                                                         bool is_little_used) {
  // Half of a process's address space: no system gives it, and the sums below cannot overflow.
  if (bytes > (uint64_t{1} << 46)) return Refused(bytes);
  const uint64_t margin = MarginOf(bytes);
  uint8_t* start = nullptr;
  if (from) {
    start = from.Zeroed(SizeOf(bytes), kAlignment);
    if (start == nullptr) return Refused(bytes);
  } else if (bytes < kMapFrom) {
    const uint64_t size = SizeOf(bytes);
    start = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, size));
    if (start == nullptr) return Refused(bytes);
    std::memset(start, 0, size);
  } else {
    const bool huge = bytes >= kHugePage;
    const uint64_t size = RoundUp(bytes, kPage), whole = size + 2 * margin;
    if (StaysIdle(bytes) && !is_little_used) start = TakeIdle(whole);
    if (start != nullptr) {
      std::memset(start + margin, 0, size);
      // Hardly ever used: their pages, if they have any, go back, and zeros come.
      madvise(start, margin, MADV_DONTNEED);
      madvise(start + margin + size, margin, MADV_DONTNEED);
    } else {
      start = Map(whole, huge ? kHugePage : kPage);
    }
    if (start == nullptr) return Refused(bytes);
    if (huge) madvise(start + margin, size, MADV_HUGEPAGE);
  }
  return std::unique_ptr<RootBuffer>(new RootBuffer(start + margin, bytes, from));
}

RootBuffer::~RootBuffer() {
  const uint64_t margin = MarginOf(size());
  if (from_) {
    from_.release(from_.self, data() - margin, SizeOf(size()));
  } else if (size() < kMapFrom) {
    std::free(data() - margin);
  } else if (const uint64_t whole = RoundUp(size(), kPage) + 2 * margin; StaysIdle(size())) {
    KeepIdle(data() - margin, whole);
  } else {
    munmap(data() - margin, whole);
  }
}

}  // namespace kiln
