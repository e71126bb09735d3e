// Memory of a CUDA device with a mirror in the host's memory, from which Python reads elements and
// to which it writes them.
#ifndef KILN_RUNTIME_CUDA_MIRRORED_BUFFER_H_
#define KILN_RUNTIME_CUDA_MIRRORED_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/growing_memory.h"
#include "runtime/device.h"

namespace kiln {

class CudaDevice;

// The mirror's pages are fetched when the host touches them, and valid until the next launch; those
// that the host has written are handed over before it. A loop that writes elements one by one is so
// one copy, and a launch after which the host touches nothing makes none. Of ranges that other
// libraries use, too, exactly the bytes of each access are copied at once; the pages are the rest.
class MirroredBuffer final : public Buffer {
 public:
  // `bytes` of zeros on the device, at least 256-byte aligned, within zeroed margins that absorb
  // stray accesses next to it. ResourceExhausted names the size.
  static Result<std::unique_ptr<MirroredBuffer>> Allocate(CudaDevice* device, uint64_t bytes);
  // The same with addresses for `most` bytes, of which so many have memory: at least `bytes`, and
  // all of it after Grow has come so far. Unimplemented, if the device lacks virtual memory or the
  // host has no addresses for the mirror.
  static Result<std::unique_ptr<MirroredBuffer>> Reserve(CudaDevice* device, uint64_t most,
                                                         uint64_t bytes);
  // Memory that another library owns, shared from the start. Without a mirror, Touch must not be
  // called.
  static Result<std::unique_ptr<MirroredBuffer>> Borrow(CudaDevice* device, uint8_t* address,
                                                        uint64_t bytes, bool has_mirror);
  ~MirroredBuffer() override;

  Device* device() const override;
  Result<> Touch(uint64_t offset, uint64_t bytes, HostAccess access) override;
  bool IsReady(uint64_t offset, uint64_t bytes, HostAccess access) const override;
  Result<> Await() override;
  Result<> HandOver() override;
  Result<> Share(uint64_t offset, uint64_t bytes) override;
  bool is_shared() const override { return is_shared_.load(std::memory_order_acquire); }
  Result<> Deliver(uint64_t offset, uint64_t bytes) override;

  // The bytes that have memory: all, unless the buffer was reserved.
  uint64_t committed() const { return committed_.load(std::memory_order_acquire); }
  // Gives the next `bytes` of a reserved buffer memory, rounded down to what the device gives at
  // once; none if no addresses are left. Zeroed before what the device is given from now on. Does
  // not wait for the device. ResourceExhausted if it has too little memory.
  Result<> Grow(uint64_t bytes);
  // Runs `change`, which changes both memories alike, while no page is fetched or handed over.
  template <typename Change>
  auto ChangeBoth(const Change& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return change();
  }

 private:
  enum State : uint8_t { kOutdated, kValid, kWritten };
  struct Range {
    uint64_t begin, end;
    uint64_t bytes() const { return end - begin; }
  };

  MirroredBuffer(CudaDevice* device, cuda::Address memory, uint8_t* data,
                 std::unique_ptr<Buffer> mirror, uint64_t bytes);
  // The bytes of pages first to last (exclusive), of which the last may be short.
  Range BytesOf(uint64_t first, uint64_t last) const;
  // What a page's state has to be at least.
  static State Wanted(HostAccess access) { return access == HostAccess::kRead ? kValid : kWritten; }
  bool ArePagesReady(Range range, HostAccess access) const;
  // Of any bytes, whose offsets are those of the mirror.
  Result<> CopyOut(Range range);
  Result<> CopyIn(Range range);
  // Those that follow need mutex_. Calls visit(part, is_shared) for the parts of a range in order,
  // until one fails.
  template <typename Visit>
  Result<> ForEachPart(Range range, const Visit& visit) const;
  Result<> TouchPages(Range range, HostAccess access);  // that is not shared
  Result<> HandOverPages();
  // Pages first to end (exclusive), which are outdated then.
  Result<> HandOverPart(uint64_t first, uint64_t end);
  void CheckInside(uint64_t offset, uint64_t bytes) const;
  void MakePages(uint64_t bytes);
  uint64_t NumPages() const;  // with a state

  CudaDevice* const device_;
  const cuda::Address memory_;              // with its margins; 0: another library's, or reserved
  std::unique_ptr<GrowingMemory> growing_;  // of a reserved buffer, with margins
  const std::unique_ptr<Buffer> mirror_;
  std::mutex mutex_;  // of fetching and handing over, and of shared_
  std::atomic<uint64_t> committed_;
  std::vector<std::atomic<uint8_t>> pages_;  // of all addresses
  // By kPagesOfPart pages, whether one of them is valid or written: a large tree has many.
  std::vector<bool> touched_parts_;
  std::atomic<bool> touched_{false};  // whether a page is valid or written
  std::vector<Range> shared_;         // in order, apart; states of pages are those of other bytes
  std::atomic<bool> is_shared_{false};
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_MIRRORED_BUFFER_H_
