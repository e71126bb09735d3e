// A limit on the memory of SNode trees' cells; several trees may share one.
#ifndef KILN_RUNTIME_MEMORY_BUDGET_H_
#define KILN_RUNTIME_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>

namespace kiln {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // False, having taken nothing, if `bytes` more would exceed the limit.
  bool Take(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ || used > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Return(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace kiln

#endif  // KILN_RUNTIME_MEMORY_BUDGET_H_
