// Where the memory of fields comes from, if the application provides it.
#ifndef KILN_RUNTIME_HOST_MEMORY_H_
#define KILN_RUNTIME_HOST_MEMORY_H_

#include <cstdint>
#include <cstring>

namespace kiln {

// The application's functions; `self` is passed to them. They are called from any thread, several
// at a time, and do not throw. `allocate` returns null for no memory, `release` gets what it
// returned with the same size. The memory's content is of no meaning: we clear it.
struct HostMemory {
  void* self = nullptr;
  void* (*allocate)(void* self, uint64_t bytes, uint64_t alignment) = nullptr;
  void (*release)(void* self, void* data, uint64_t bytes) = nullptr;

  explicit operator bool() const { return allocate != nullptr; }
  // Zeros; null for no memory. `alignment`, a power of two, is promised to callers even if the
  // application forgets it: memory that is not aligned is given back.
  uint8_t* Zeroed(uint64_t bytes, uint64_t alignment) const {
    void* data = allocate(self, bytes, alignment);
    if (data == nullptr) return nullptr;
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
      release(self, data, bytes);
      return nullptr;
    }
    return static_cast<uint8_t*>(std::memset(data, 0, bytes));
  }
};

}  // namespace kiln

#endif  // KILN_RUNTIME_HOST_MEMORY_H_
