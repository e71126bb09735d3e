// Arrays of the host as arguments of a kernel on another device: copies for the time of a launch.
#ifndef KILN_RUNTIME_HOST_ARRAYS_H_
#define KILN_RUNTIME_HOST_ARRAYS_H_

#include <cstdint>
#include <vector>

#include "runtime/device.h"
#include "runtime/result.h"

namespace kiln {

// Not thread-safe. Without arrays it costs nothing.
class HostArrays {
 public:
  explicit HostArrays(Device* device) : device_(device) {}
  // What a launch that was not waited for reads comes before the next use of the memory.
  ~HostArrays();
  HostArrays(const HostArrays&) = delete;
  HostArrays& operator=(const HostArrays&) = delete;

  // An array of `bytes` at `host`, whose copy's address goes to `slot`. Both outlive the object.
  void Add(uint8_t* host, uint64_t bytes, uint64_t* slot, bool is_written) {
    arrays_.push_back({host, bytes, slot, is_written, nullptr});
  }
  // Whether the launch may write to any, so that CopyBack waits.
  bool AreWritten() const;
  // Before the launch: copies all to the device. Arrays that overlap do so there, too.
  Result<> CopyIn();
  // After it: waits for it if it may have written to arrays, and copies those back.
  Result<> CopyBack();

 private:
  struct Array {
    uint8_t* host;
    uint64_t bytes;
    uint64_t* slot;
    bool is_written;
    uint8_t* copy;  // the device's address
  };
  struct Scratch {
    uint8_t* memory;
    uint64_t bytes;
  };

  Device* const device_;
  std::vector<Array> arrays_;
  std::vector<Scratch> scratch_;  // of the copies
};

}  // namespace kiln

#endif  // KILN_RUNTIME_HOST_ARRAYS_H_
