#include "runtime/thread_tape.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "common/base/first_use.h"

namespace kiln {
namespace {

// An empty tape keeps this much memory for the next launch.
constexpr uint64_t kKept = uint64_t{64} << 20;

std::atomic<uint64_t> given_limit{0}, given_default{0};  // 0: none

uint64_t ShareOfMachine() {
  const auto pages = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  const auto cpus = static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 4 / cpus;
}

}  // namespace

ThreadTape& ThreadTape::OfThread() {
  static thread_local ThreadTape tape;
  return tape;
}

uint64_t ThreadTape::NextLaunch() {
  static std::atomic<uint64_t> launches{0};
  return ++launches;
}

uint64_t ThreadTape::Limit() {
  static FirstUse<uint64_t> share;
  const uint64_t given = given_limit.load(std::memory_order_relaxed);
  if (given > 0) return given;
  const uint64_t by_default = given_default.load(std::memory_order_relaxed);
  return by_default > 0 ? by_default : share.Get(&ShareOfMachine);
}

uint64_t ThreadTape::GivenLimit() { return given_limit.load(std::memory_order_relaxed); }

void ThreadTape::SetLimit(uint64_t bytes) { given_limit.store(bytes, std::memory_order_relaxed); }

void ThreadTape::SetDefaultLimit(uint64_t bytes) {
  given_default.store(bytes, std::memory_order_relaxed);
}

ThreadTape::~ThreadTape() { Release(); }

void ThreadTape::Release() {
  if (memory_ != nullptr) munmap(memory_, limit_);
  memory_ = nullptr;
  most_ = 0;
}

void ThreadTape::Reserve() {
  limit_ = Limit();
  void* memory = mmap(nullptr, limit_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    limit_ = 0;  // the next push tries again
  } else {
    memory_ = static_cast<uint8_t*>(memory);
  }
}

uint8_t* ThreadTape::Push(uint64_t launch, uint64_t bytes) {
  if (launch_ != launch) {
    launch_ = launch;
    used_ = 0;
    if (limit_ != Limit()) Release();
  }
  if (memory_ == nullptr) Reserve();
  if (bytes > limit_ - used_) return nullptr;
  uint8_t* pushed = memory_ + used_;
  used_ += bytes;
  most_ = std::max(most_, used_);
  return pushed;
}

void ThreadTape::Pop(uint64_t bytes) {
  used_ -= bytes;
  if (used_ > 0 || most_ <= kKept) return;
  madvise(memory_ + kKept, most_ - kKept, MADV_DONTNEED);
  most_ = 0;
}

}  // namespace kiln
