#include "runtime/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace kiln {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
// Allocations of at least this size come from the system in pages, zeroed and returnable.
constexpr uint64_t kMapFrom = uint64_t{64} << 10;
constexpr uint64_t kAlignment = 64;

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Zeroed memory on either side that absorbs stray accesses: programs read one row beyond a field's
// border. Without bounds checks that must neither end the process nor read malloc's data. An eighth
// covers a row of any field of at least eight rows; of mapped memory it costs addresses, not pages.
uint64_t MarginOf(uint64_t bytes) {
  if (bytes < kMapFrom) return RoundUp(std::min<uint64_t>(bytes, 4096), kAlignment);
  const uint64_t margin = std::clamp(bytes / 8, kMapFrom, uint64_t{64} << 20);
  return RoundUp(margin, bytes >= kHugePage ? kHugePage : 4096);
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
  const uint64_t whole = size + (alignment > 4096 ? alignment : 0);
  void* raw = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = RoundUp(start, alignment);
  if (aligned != start) munmap(raw, aligned - start);
  uintptr_t end = start + whole;
  if (end != aligned + size) munmap(reinterpret_cast<void*>(aligned + size), end - aligned - size);
  return reinterpret_cast<uint8_t*>(aligned);
}

}  // namespace

Result<std::unique_ptr<RootBuffer>> RootBuffer::Allocate(uint64_t bytes, const HostMemory& from) {
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
    const uint64_t size = RoundUp(bytes, 4096);
    start = Map(size + 2 * margin, huge ? kHugePage : 4096);
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
  } else {
    munmap(data() - margin, RoundUp(size(), 4096) + 2 * margin);
  }
}

}  // namespace kiln
