// Memory of fields: zeroed, aligned, returned to the system when destroyed.
#ifndef KILN_RUNTIME_STORAGE_H_
#define KILN_RUNTIME_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/result.h"

namespace kiln {

// One root container. Movable by pointer only; reading the address is thread-safe.
class RootBuffer {
 public:
  // `bytes` of zeros, at least 64-byte aligned (for huge pages above 2 MiB). Zeroed margins around
  // it absorb stray reads and writes. ResourceExhausted names the size if the system refuses.
  static Result<std::unique_ptr<RootBuffer>> Allocate(uint64_t bytes);
  ~RootBuffer();
  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  RootBuffer(uint8_t* data, uint64_t size) : data_(data), size_(size) {}
  uint8_t* data_;
  uint64_t size_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_STORAGE_H_
