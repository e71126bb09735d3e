#include "runtime/cuda/mirrored_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/storage.h"

namespace kiln {
namespace {

using cuda::Address;

// A copy of so much takes about as long as starting it.
constexpr uint64_t kPage = uint64_t{64} << 10;
constexpr uint64_t kAlignment = 256;  // cuMemAlloc's
constexpr uint64_t kPagesOfPart = 1024;

// As RootBuffer's margins (storage.cc), but small: the device commits all memory at once.
constexpr uint64_t kMostMargin = uint64_t{1} << 20;
uint64_t MarginOf(uint64_t bytes) {
  return std::clamp<uint64_t>(bytes / 8, kAlignment, kMostMargin) / kAlignment * kAlignment;
}

// Zeros of the host that take memory page by page, when they are used. The system counts none of
// them before (but where it never gives more than it has).
class HostAddresses final : public Buffer {
 public:
  // Null if there are not so many.
  static std::unique_ptr<HostAddresses> Reserve(uint64_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    return std::unique_ptr<HostAddresses>(new HostAddresses(static_cast<uint8_t*>(at), bytes));
  }
  ~HostAddresses() override { munmap(data(), size()); }

 private:
  HostAddresses(uint8_t* at, uint64_t bytes) : Buffer(at, at, bytes) {}
};

}  // namespace

Result<std::unique_ptr<MirroredBuffer>> MirroredBuffer::Allocate(CudaDevice* device,
                                                                 uint64_t bytes) {
  const uint64_t margin = MarginOf(bytes), whole = bytes + 2 * margin;
  if (Result<> entered = device->Enter(); !entered.ok()) return entered.error();
  CudaDevice::Turn turn;
  if (Result<> taken = device->TakeTurn(&turn); !taken.ok()) return taken.error();
  Result<Address> memory = device->TakeIdle(whole);
  if (*memory == 0) memory = device->AllocateMemory(whole, bytes, "fields");
  if (!memory.ok()) return memory.error();
  Result<std::unique_ptr<RootBuffer>> mirror =
      RootBuffer::Allocate(bytes, /*from=*/{}, /*is_little_used=*/true);
  const cuda::Code code = device->driver().Set8(*memory, 0, whole, turn.stream());
  if (!mirror.ok() || code != cuda::kSuccess) {
    device->driver().MemFree(*memory);
    return mirror.ok() ? device->ErrorOf(code, "no memory for fields") : mirror.error();
  }
  return std::unique_ptr<MirroredBuffer>(new MirroredBuffer(
      device, *memory, reinterpret_cast<uint8_t*>(*memory + margin), *std::move(mirror), bytes));
}

Result<std::unique_ptr<MirroredBuffer>> MirroredBuffer::Reserve(CudaDevice* device, uint64_t most,
                                                                uint64_t bytes) {
  Result<std::unique_ptr<GrowingMemory>> reserved =
      GrowingMemory::Reserve(device, most + 2 * kMostMargin);
  if (!reserved.ok()) return reserved.error();
  std::unique_ptr<GrowingMemory> memory = *std::move(reserved);
  const uint64_t addresses = memory->reserved() - 2 * kMostMargin;
  std::unique_ptr<HostAddresses> mirror = HostAddresses::Reserve(addresses);
  if (mirror == nullptr) {
    return Error{ErrorCode::kUnimplemented, "the host has no addresses for a mirror of " +
                                                std::to_string(addresses) + " bytes"};
  }
  const cuda::Address start = memory->address();
  const uint64_t whole = bytes + 2 * kMostMargin + memory->step() - 1;
  if (Result<> committed = memory->Commit(std::min(whole, memory->reserved())); !committed.ok()) {
    return committed.error();
  }
  CudaDevice::Turn turn;
  if (Result<> taken = device->TakeTurn(&turn); !taken.ok()) return taken.error();
  const cuda::Code code = device->driver().Set8(start, 0, memory->committed(), turn.stream());
  if (code != cuda::kSuccess) return device->ErrorOf(code, "no memory for fields");
  std::unique_ptr<MirroredBuffer> buffer(
      new MirroredBuffer(device, /*memory=*/0, reinterpret_cast<uint8_t*>(start + kMostMargin),
                         std::move(mirror), addresses));
  buffer->committed_ = memory->committed() - 2 * kMostMargin;
  buffer->growing_ = std::move(memory);
  buffer->MakePages(addresses);
  return buffer;
}

Result<> MirroredBuffer::Grow(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t before = growing_->committed();
  Result<> committed = growing_->Commit(std::min(bytes, growing_->reserved() - before));
  if (!committed.ok() || growing_->committed() == before) return committed;
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return taken;
  // What strays into the margin behind the old end must not be found in a cell.
  const uint64_t from = before - kMostMargin;
  const cuda::Code code = device_->driver().Set8(growing_->address() + from, 0,
                                                 growing_->committed() - from, turn.stream());
  if (code != cuda::kSuccess) return device_->ErrorOf(code, "clearing memory of SNodes failed");
  // The new pages are outdated in the mirror.
  committed_.store(growing_->committed() - 2 * kMostMargin, std::memory_order_release);
  return {};
}

Result<std::unique_ptr<MirroredBuffer>> MirroredBuffer::Borrow(CudaDevice* device, uint8_t* address,
                                                               uint64_t bytes, bool has_mirror) {
  std::unique_ptr<Buffer> mirror;
  if (has_mirror) {
    Result<std::unique_ptr<RootBuffer>> made =
        RootBuffer::Allocate(std::max<uint64_t>(bytes, 1), /*from=*/{}, /*is_little_used=*/true);
    if (!made.ok()) return made.error();
    mirror = *std::move(made);
  }
  std::unique_ptr<MirroredBuffer> buffer(
      new MirroredBuffer(device, /*memory=*/0, address, std::move(mirror), bytes));
  buffer->shared_ = {{0, bytes}};
  buffer->is_shared_ = true;
  return buffer;
}

// The mirror is zeroed as the device's memory is, so it begins valid.
MirroredBuffer::MirroredBuffer(CudaDevice* device, Address memory, uint8_t* data,
                               std::unique_ptr<Buffer> mirror, uint64_t bytes)
    : Buffer(data, mirror == nullptr ? nullptr : mirror->data(), bytes),
      device_(device),
      memory_(memory),
      mirror_(std::move(mirror)),
      committed_(bytes) {
  if (memory != 0) MakePages(bytes);
  touched_ = true;
}

void MirroredBuffer::MakePages(uint64_t bytes) {
  pages_ = std::vector<std::atomic<uint8_t>>((bytes + kPage - 1) / kPage);
  touched_parts_.assign(pages_.size() / kPagesOfPart + 1, true);
  for (uint64_t p = 0; p < NumPages(); ++p) pages_[p].store(kValid, std::memory_order_relaxed);
}

// Reserved memory ends with its owner.
MirroredBuffer::~MirroredBuffer() {
  // In a forked child the memory is the parent's.
  if (memory_ == 0 || !device_->Enter().ok()) return;
  if (is_shared()) {
    device_->driver().MemFree(memory_);  // waits for the work of other libraries
  } else {
    device_->ReturnMemory(memory_, size() + 2 * MarginOf(size()));
  }
}

Device* MirroredBuffer::device() const { return device_; }

// Another library's memory has no pages.
uint64_t MirroredBuffer::NumPages() const {
  return std::min<uint64_t>((committed() + kPage - 1) / kPage, pages_.size());
}

MirroredBuffer::Range MirroredBuffer::BytesOf(uint64_t first, uint64_t last) const {
  return {first * kPage, std::min(last * kPage, committed())};
}

Result<> MirroredBuffer::CopyOut(Range range) {
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return taken;
  const cuda::Code code = device_->driver().CopyOut(
      host() + range.begin, reinterpret_cast<Address>(data()) + range.begin, range.bytes());
  if (code != cuda::kSuccess) return device_->ErrorOf(code, "reading from the CUDA device failed");
  return device_->TakeNotice();  // kernels before the copy may have had no memory for cells
}

Result<> MirroredBuffer::CopyIn(Range range) {
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return taken;
  const cuda::Code code = device_->driver().CopyIn(reinterpret_cast<Address>(data()) + range.begin,
                                                   host() + range.begin, range.bytes());
  if (code != cuda::kSuccess) return device_->ErrorOf(code, "writing to the CUDA device failed");
  return {};
}

void MirroredBuffer::CheckInside(uint64_t offset, uint64_t bytes) const {
  KILN_CHECK(mirror_ != nullptr) << "the host uses borrowed memory that has no mirror";
  KILN_CHECK(offset < committed() && bytes <= committed() - offset) << "bytes outside of a buffer";
}

template <typename Visit>
Result<> MirroredBuffer::ForEachPart(Range range, const Visit& visit) const {
  uint64_t next = range.begin;
  for (const Range& shared : shared_) {
    const uint64_t begin = std::max(shared.begin, next), end = std::min(shared.end, range.end);
    if (begin >= end) continue;
    if (next < begin) {
      if (Result<> done = visit(Range{next, begin}, false); !done.ok()) return done;
    }
    if (Result<> done = visit(Range{begin, end}, true); !done.ok()) return done;
    next = end;
  }
  return next < range.end ? visit(Range{next, range.end}, false) : Result<>();
}

Result<> MirroredBuffer::Share(uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return {};
  CheckInside(offset, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  // The host may have written to these bytes before: as parts of pages they are handed over now for
  // the last time.
  if (Result<> done = HandOverPages(); !done.ok()) return done;
  Range added = {offset, offset + bytes};
  std::vector<Range> apart;
  for (const Range& range : shared_) {
    if (range.end < added.begin || added.end < range.begin) {
      apart.push_back(range);
    } else {
      added = {std::min(added.begin, range.begin), std::max(added.end, range.end)};
    }
  }
  apart.push_back(added);
  std::sort(apart.begin(), apart.end(), [](Range x, Range y) { return x.begin < y.begin; });
  shared_ = std::move(apart);
  is_shared_.store(true, std::memory_order_release);
  return {};
}

Result<> MirroredBuffer::Deliver(uint64_t offset, uint64_t bytes) {
  if (!is_shared() || bytes == 0) return {};
  CheckInside(offset, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  return ForEachPart({offset, offset + bytes}, [&](Range part, bool is_shared) {
    return is_shared ? CopyIn(part) : Result<>();
  });
}

bool MirroredBuffer::IsReady(uint64_t offset, uint64_t bytes, HostAccess access) const {
  return bytes == 0 || (!is_shared() && ArePagesReady({offset, offset + bytes}, access));
}

bool MirroredBuffer::ArePagesReady(Range range, HostAccess access) const {
  const uint64_t end = (range.end - 1) / kPage + 1;
  uint64_t p = range.begin / kPage;
  // Without the lock. Acquire: TouchPages has copied a page before it stores the page's state, so a
  // thread that sees the state also sees the bytes.
  while (p < end && pages_[p].load(std::memory_order_acquire) >= Wanted(access)) ++p;
  return p == end;
}

Result<> MirroredBuffer::Touch(uint64_t offset, uint64_t bytes, HostAccess access) {
  if (bytes == 0) return {};
  CheckInside(offset, bytes);
  const Range range = {offset, offset + bytes};
  if (IsReady(offset, bytes, access)) return {};  // the usual case: a loop over elements
  const std::lock_guard<std::mutex> lock(mutex_);
  return ForEachPart(range, [&](Range part, bool is_shared) {
    if (!is_shared) return TouchPages(part, access);
    return access == HostAccess::kOverwrite ? Result<>() : CopyOut(part);
  });
}

Result<> MirroredBuffer::TouchPages(Range range, HostAccess access) {
  const auto state = [this](uint64_t p) { return pages_[p].load(std::memory_order_acquire); };
  // A page that is overwritten whole need not be fetched.
  const auto is_fetched = [&](uint64_t p) {
    const Range page = BytesOf(p, p + 1);
    const bool whole = range.begin <= page.begin && page.end <= range.end;
    return state(p) == kOutdated && !(whole && access == HostAccess::kOverwrite);
  };
  const auto fetch = [this](Range part, bool is_shared) {
    return is_shared ? Result<>() : CopyOut(part);
  };
  touched_.store(true, std::memory_order_relaxed);
  const uint64_t end = (range.end - 1) / kPage + 1;
  for (uint64_t p = range.begin / kPage; p < end;) {
    uint64_t last = p;
    while (last < end && is_fetched(last)) ++last;
    // Neighbours in one copy, since to start one takes as long as to copy a page.
    if (last > p) {
      if (Result<> done = ForEachPart(BytesOf(p, last), fetch); !done.ok()) return done;
    }
    for (last = std::max(last, p + 1); p < last; ++p) {
      touched_parts_[p / kPagesOfPart] = true;
      // A written page that is only read stays written: it has yet to be handed over.
      if (state(p) < Wanted(access)) pages_[p].store(Wanted(access), std::memory_order_release);
    }
  }
  return {};
}

Result<> MirroredBuffer::Await() {
  if (IsReady(0, committed(), HostAccess::kRead)) return {};
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return taken;
  // A copy to the host returns after all that the device was given before.
  uint8_t first = 0;
  const cuda::Code code = device_->driver().CopyOut(&first, reinterpret_cast<Address>(data()), 1);
  if (code != cuda::kSuccess) return device_->ErrorOf(code, "reading from the CUDA device failed");
  return {};
}

Result<> MirroredBuffer::HandOver() {
  if (!touched_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  return HandOverPages();
}

Result<> MirroredBuffer::HandOverPages() {
  if (!touched_.load(std::memory_order_relaxed)) return {};
  const uint64_t end = NumPages();
  for (uint64_t first = 0; first < end; first += kPagesOfPart) {
    if (!touched_parts_[first / kPagesOfPart]) continue;
    const Result<> done = HandOverPart(first, std::min(first + kPagesOfPart, end));
    if (!done.ok()) return done;
    touched_parts_[first / kPagesOfPart] = false;
  }
  touched_.store(false, std::memory_order_relaxed);
  return {};
}

Result<> MirroredBuffer::HandOverPart(uint64_t first, uint64_t end) {
  const auto hand_over = [this](Range part, bool is_shared) {
    return is_shared ? Result<>() : CopyIn(part);
  };
  for (uint64_t p = first; p < end;) {
    uint64_t last = p;
    while (last < end && pages_[last].load(std::memory_order_relaxed) == kWritten) ++last;
    if (last > p) {
      if (Result<> done = ForEachPart(BytesOf(p, last), hand_over); !done.ok()) return done;
    }
    p = std::max(last, p + 1);
  }
  // All pages, since a kernel may write any of them. Relaxed: no bytes go with this state, and a
  // thread that still sees the old one reads what was there before the launch.
  for (uint64_t p = first; p < end; ++p) pages_[p].store(kOutdated, std::memory_order_relaxed);
  return {};
}

}  // namespace kiln
