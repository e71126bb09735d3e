// Memory of fields and ndarrays: zeroed, aligned, returned when destroyed.
#ifndef KILN_RUNTIME_STORAGE_H_
#define KILN_RUNTIME_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/host_memory.h"
#include "runtime/result.h"

namespace kiln {

class Device;

// What the host is about to do with memory of a device. kOverwrite writes every byte, so that no
// byte has to come from the device first.
enum class HostAccess : uint8_t { kRead, kWrite, kOverwrite };

// Memory of a device; freed when destroyed. Movable by pointer only; reading the addresses is
// thread-safe.
//
// The host uses the memory at host(). For a device with memory of its own that is a mirror, and
// Touch comes before each use of it. After the next launch, what the host has at host() is
// outdated.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint8_t* data() const { return data_; }  // the device's address
  uint8_t* host() const { return host_; }
  uint64_t size() const { return size_; }
  bool is_mirrored() const { return host_ != data_; }
  // Whose memory it is; null: the host's.
  virtual Device* device() const { return nullptr; }

  // Brings `bytes` at host() + `offset` up to date for the host. Requires: they are inside.
  // Thread-safe. Fails if the device does.
  virtual Result<> Touch(uint64_t /*offset*/, uint64_t /*bytes*/, HostAccess /*access*/) {
    return {};
  }
  // Whether Touch has nothing to do. Thread-safe.
  virtual bool IsReady(uint64_t /*offset*/, uint64_t /*bytes*/, HostAccess /*access*/) const {
    return true;
  }
  // Waits for the work for which Touch would have to wait, and changes nothing. Thread-safe.
  virtual Result<> Await() { return {}; }
  // Hands what the host has written over to the device, before a launch. Thread-safe, but until the
  // launch has started, no other thread may touch or write: it would keep what the launch changes.
  virtual Result<> HandOver() { return {}; }

  // Other libraries use `bytes` of the device's memory from now on, at any time. Each Touch then
  // fetches those of them that it names, and Deliver has to follow each write of the host. Both
  // belong to one step: no other thread may touch or write between them.
  virtual Result<> Share(uint64_t /*offset*/, uint64_t /*bytes*/) { return {}; }
  virtual bool is_shared() const { return false; }  // any of it
  virtual Result<> Deliver(uint64_t /*offset*/, uint64_t /*bytes*/) { return {}; }

 protected:
  Buffer(uint8_t* data, uint8_t* host, uint64_t size) : data_(data), host_(host), size_(size) {}

 private:
  uint8_t* const data_;
  uint8_t* const host_;
  const uint64_t size_;
};

// One root container, in the host's memory.
class RootBuffer final : public Buffer {
 public:
  // `bytes` of zeros, at least 64-byte aligned (for huge pages above 2 MiB). Zeroed margins around
  // it absorb stray reads and writes. ResourceExhausted names the size if the system refuses, or
  // the application, whose memory `from` is. `is_little_used`: most pages may never be touched, and
  // then take no memory.
  static Result<std::unique_ptr<RootBuffer>> Allocate(uint64_t bytes, const HostMemory& from = {},
                                                      bool is_little_used = false);
  ~RootBuffer() override;

 private:
  RootBuffer(uint8_t* data, uint64_t size, const HostMemory& from)
      : Buffer(data, data, size), from_(from) {}

  const HostMemory from_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_STORAGE_H_
