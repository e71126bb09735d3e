// Memory of fields: zeroed, aligned, returned to the system when destroyed.
#ifndef KILN_RUNTIME_STORAGE_H_
#define KILN_RUNTIME_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/result.h"

namespace kiln {

// Memory of a device; freed when destroyed. Movable by pointer only; reading the address is
// thread-safe.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint8_t* data() const { return data_; }  // the device's address
  uint64_t size() const { return size_; }

 protected:
  Buffer(uint8_t* data, uint64_t size) : data_(data), size_(size) {}

 private:
  uint8_t* const data_;
  const uint64_t size_;
};

// One root container, in the host's memory.
class RootBuffer final : public Buffer {
 public:
  // `bytes` of zeros, at least 64-byte aligned (for huge pages above 2 MiB). Zeroed margins around
  // it absorb stray reads and writes. ResourceExhausted names the size if the system refuses.
  static Result<std::unique_ptr<RootBuffer>> Allocate(uint64_t bytes);
  ~RootBuffer() override;

 private:
  RootBuffer(uint8_t* data, uint64_t size) : Buffer(data, size) {}
};

}  // namespace kiln

#endif  // KILN_RUNTIME_STORAGE_H_
