// Memory of fields: zeroed, aligned, returned to the system when dropped.
#ifndef KILN_RUNTIME_STORAGE_H_
#define KILN_RUNTIME_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace kiln {

// One root container. Movable by pointer only; thread-safe to read the address.
class RootBuffer {
 public:
  // `bytes` of zeroes, at least 64-byte aligned (huge-page friendly above 2 MiB), between margins
  // of zeroes that may be read and written to no effect on anything else.
  // ResourceExhausted naming the size when the system refuses.
  static absl::StatusOr<std::unique_ptr<RootBuffer>> Allocate(uint64_t bytes);
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
