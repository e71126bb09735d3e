#include "runtime/cuda/mirrored_buffer.h"

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

// As RootBuffer's margins (storage.cc), but small: the device commits all memory at once.
uint64_t MarginOf(uint64_t bytes) {
  return std::clamp<uint64_t>(bytes / 8, kAlignment, uint64_t{1} << 20) / kAlignment * kAlignment;
}

}  // namespace

Result<std::unique_ptr<MirroredBuffer>> MirroredBuffer::Allocate(CudaDevice* device,
                                                                 uint64_t bytes) {
  const uint64_t margin = MarginOf(bytes), whole = bytes + 2 * margin;
  CudaDevice::Turn turn;
  if (Result<> taken = device->TakeTurn(&turn); !taken.ok()) return taken.error();
  Result<Address> memory = device->AllocateMemory(whole, bytes, "fields");
  if (!memory.ok()) return memory.error();
  Result<std::unique_ptr<RootBuffer>> mirror = RootBuffer::Allocate(bytes);
  const cuda::Code code = device->driver().Set8(*memory, 0, whole, turn.stream());
  if (!mirror.ok() || code != cuda::kSuccess) {
    device->driver().MemFree(*memory);
    return mirror.ok() ? device->ErrorOf(code, "no memory for fields") : mirror.error();
  }
  return std::unique_ptr<MirroredBuffer>(new MirroredBuffer(
      device, *memory, reinterpret_cast<uint8_t*>(*memory + margin), *std::move(mirror), bytes));
}

Result<std::unique_ptr<MirroredBuffer>> MirroredBuffer::Borrow(CudaDevice* device, uint8_t* address,
                                                               uint64_t bytes, bool has_mirror) {
  std::unique_ptr<Buffer> mirror;
  if (has_mirror) {
    Result<std::unique_ptr<RootBuffer>> made = RootBuffer::Allocate(std::max<uint64_t>(bytes, 1));
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
      pages_(memory == 0 ? 0 : (bytes + kPage - 1) / kPage) {
  for (auto& page : pages_) page.store(kValid, std::memory_order_relaxed);
  touched_ = true;
}

MirroredBuffer::~MirroredBuffer() {
  // In a forked child the memory is the parent's.
  if (memory_ != 0 && device_->Enter().ok()) device_->driver().MemFree(memory_);
}

Device* MirroredBuffer::device() const { return device_; }

MirroredBuffer::Range MirroredBuffer::BytesOf(uint64_t first, uint64_t last) const {
  return {first * kPage, std::min(last * kPage, size())};
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
  KILN_CHECK(offset < size() && bytes <= size() - offset) << "bytes outside of a buffer";
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

bool MirroredBuffer::IsReady(Range range, HostAccess access) const {
  const uint64_t end = (range.end - 1) / kPage + 1;
  uint64_t p = range.begin / kPage;
  while (p < end && pages_[p].load(std::memory_order_acquire) >= Wanted(access)) ++p;
  return p == end;
}

Result<> MirroredBuffer::Touch(uint64_t offset, uint64_t bytes, HostAccess access) {
  if (bytes == 0) return {};
  CheckInside(offset, bytes);
  const Range range = {offset, offset + bytes};
  // The usual case: a loop over elements.
  if (!is_shared() && IsReady(range, access)) return {};
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
    if (last > p) {
      if (Result<> done = ForEachPart(BytesOf(p, last), fetch); !done.ok()) return done;
    }
    for (last = std::max(last, p + 1); p < last; ++p) {
      if (state(p) < Wanted(access)) pages_[p].store(Wanted(access), std::memory_order_release);
    }
  }
  return {};
}

Result<> MirroredBuffer::HandOver() {
  if (!touched_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  return HandOverPages();
}

Result<> MirroredBuffer::HandOverPages() {
  if (!touched_.load(std::memory_order_relaxed)) return {};
  const auto hand_over = [this](Range part, bool is_shared) {
    return is_shared ? Result<>() : CopyIn(part);
  };
  const uint64_t end = pages_.size();
  for (uint64_t p = 0; p < end;) {
    uint64_t last = p;
    while (last < end && pages_[last].load(std::memory_order_relaxed) == kWritten) ++last;
    if (last > p) {
      if (Result<> done = ForEachPart(BytesOf(p, last), hand_over); !done.ok()) return done;
    }
    p = std::max(last, p + 1);
  }
  for (auto& page : pages_) page.store(kOutdated, std::memory_order_relaxed);
  touched_.store(false, std::memory_order_relaxed);
  return {};
}

}  // namespace kiln
