// Memory of the fake device. Its addresses are a reservation that nothing may read or write; the
// driver and the emulator use a second mapping of the same pages at a constant distance. So code
// that uses a device pointer on the host gets SIGSEGV, as with a real device.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_DEVICE_MEMORY_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/access_checks.h"
#include "tests/support/fake_cuda/warp.h"

namespace kiln::fake_cuda {

// Not thread-safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t capacity);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // 0: there is not enough. New memory holds garbage (0xa5), so that code cannot rely on zeros. At
  // least 512 bytes that belong to no allocation separate any two. Only kernels of the same owner,
  // a context, may use it.
  uint64_t Allocate(uint64_t bytes, const void* owner);
  // False: no allocation begins there.
  bool Free(uint64_t address);
  // Memory of the host that the device sees, under the same address.
  void AddHost(void* at, uint64_t bytes);
  bool RemoveHost(void* at);
  // Whether a range of the host is such memory as a whole.
  bool IsHost(const void* at, uint64_t bytes) const;
  // Where the host finds a range of one allocation of either kind; nullptr: nowhere.
  uint8_t* Find(uint64_t address, uint64_t bytes) const;
  // Zeroes a range of an allocation. Whole pages take no memory until they are used.
  static void Clear(uint8_t* at, uint64_t bytes);
  // Whose allocation has the address; nullptr: none, or the host's.
  const void* OwnerOf(uint64_t address) const;
  // What kernels of the owner may use, sorted.
  std::vector<Interval> Intervals(const void* owner) const;

  // --- Virtual memory, in multiples of kStep. What returns a text says what is wrong with the
  // request; "": nothing, and it is done.
  static constexpr uint64_t kStep = uint64_t{2} << 20;
  // Addresses without memory; 0: there are none left.
  uint64_t Reserve(uint64_t bytes);
  std::string Unreserve(uint64_t address, uint64_t bytes);
  // A handle of memory; 0: there is not enough.
  uint64_t Create(uint64_t bytes);
  std::string Release(uint64_t handle);
  // New memory holds garbage, as that of Allocate.
  std::string Map(uint64_t address, uint64_t bytes, uint64_t handle);
  std::string Unmap(uint64_t address, uint64_t bytes);
  // Kernels of the owner may use what is mapped there.
  std::string SetAccess(uint64_t address, uint64_t bytes, const void* owner);
  // Reserved addresses that nothing may use.
  std::vector<Gap> Gaps() const;
  // Bytes of allocations that were never written, by the device's addresses.
  UnwrittenBytes& unwritten() { return unwritten_; }
  // The driver writes where Find has found a range.
  void NoteWrite(const uint8_t* at, uint64_t bytes);
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }

 private:
  struct Mapping {
    uint64_t bytes, handle;
    const void* owner;  // null: without access
  };
  struct Memory {
    uint64_t bytes;
    bool released, mapped;
  };

  // What is mapped and accessible, by its first address; neighbours of one reservation are joined.
  void FindWindows();
  void FreeIfUnused(uint64_t handle);
  // Whether it is all of the mappings in it.
  bool IsMapped(uint64_t address, uint64_t bytes) const;
  uint8_t* Mirror(uint64_t address) const {
    return mapped_ + (address - reinterpret_cast<uint64_t>(reserved_));
  }

  uint64_t capacity_, used_ = 0;
  uint64_t space_;    // bytes of addresses: more than the capacity, so that reuse is late
  uint64_t virtual_;  // bytes of addresses behind them, for reservations
  uint8_t* reserved_ = nullptr;
  uint8_t* mapped_ = nullptr;
  uint64_t next_ = 0;                         // where to look for a gap: an offset
  std::map<uint64_t, uint64_t> allocations_;  // bytes by address
  std::map<uint64_t, const void*> owners_;    // likewise
  std::map<uint64_t, uint64_t> host_;
  uint64_t virtual_next_ = 0;                  // as next_, behind the addresses of allocations
  std::map<uint64_t, uint64_t> reservations_;  // bytes by address
  std::map<uint64_t, Mapping> mappings_;       // by address
  std::map<uint64_t, Memory> memories_;        // by handle
  uint64_t last_handle_ = 0;
  std::map<uint64_t, uint64_t> windows_;           // bytes by address
  std::map<uint64_t, const void*> window_owners_;  // likewise
  UnwrittenBytes unwritten_;
};

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_DEVICE_MEMORY_H_
