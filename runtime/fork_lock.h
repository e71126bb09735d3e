// A lock that is open in a forked child: its holder does not exist there.
//
// The guarded data must be usable in any intermediate state, or the child must not use its copy.
// Writers therefore publish by a single last store. Held briefly, except by users of TryLock.
#ifndef KILN_RUNTIME_FORK_LOCK_H_
#define KILN_RUNTIME_FORK_LOCK_H_

#include <immintrin.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace kiln {

// Counts the forks that led to this process, from 1.
class ForkGeneration {
 public:
  static uint32_t Get() { return generation_.load(std::memory_order_relaxed); }
  // Call before creating the first lock.
  static void Watch() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &Next); });
  }

 private:
  static void Next() { generation_.fetch_add(1, std::memory_order_relaxed); }
  inline static std::atomic<uint32_t> generation_{1};
};

class ForkLock {
 public:
  ForkLock() { ForkGeneration::Watch(); }
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

  bool TryLock() {
    const uint32_t own = ForkGeneration::Get();
    uint32_t holder = holder_.load(std::memory_order_relaxed);
    return holder != own && holder_.compare_exchange_strong(holder, own, std::memory_order_acquire);
  }

  void Lock() {
    for (int tries = 0; !TryLock(); ++tries) {
      if (tries < kSpins) {
        _mm_pause();
      } else {
        constexpr timespec kNap = {0, 50'000};
        nanosleep(&kNap, nullptr);
      }
    }
  }

  void Unlock() { holder_.store(0, std::memory_order_release); }

 private:
  static constexpr int kSpins = 2000;
  std::atomic<uint32_t> holder_{0};  // the generation that took it
};

class ForkLockGuard {
 public:
  explicit ForkLockGuard(ForkLock& lock) : lock_(lock) { lock_.Lock(); }
  ~ForkLockGuard() { lock_.Unlock(); }
  ForkLockGuard(const ForkLockGuard&) = delete;
  ForkLockGuard& operator=(const ForkLockGuard&) = delete;

 private:
  ForkLock& lock_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_FORK_LOCK_H_
