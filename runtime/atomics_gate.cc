#include "runtime/atomics_gate.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <mutex>

namespace kiln {
namespace {

constexpr int kAlone = -1;

// The number of launches inside, or kAlone.
std::atomic<int> inside{0};
// A nested launch (a print hook may run a kernel) must not wait for its own thread.
thread_local int alone_depth = 0;

// The threads that were inside do not exist in the child, so nothing would ever decrement the
// count.
void OpenInChild() { inside.store(0, std::memory_order_relaxed); }

}  // namespace

bool AtomicsGate::TryEnterAlone() {
  static std::once_flag at_fork;
  std::call_once(at_fork, [] { pthread_atfork(nullptr, nullptr, &OpenInChild); });
  // A nested launch of the lone thread fails here, too, and enters through Enter, which lets it
  // pass.
  int nobody = 0;
  // Acquire: plain reads of the lone thread have to see what the threads before it wrote with
  // atomics.
  if (!inside.compare_exchange_strong(nobody, kAlone, std::memory_order_acquire)) return false;
  ++alone_depth;
  return true;
}

void AtomicsGate::LeaveAlone() {
  --alone_depth;
  inside.store(0, std::memory_order_release);
}

void AtomicsGate::Enter() {
  if (alone_depth > 0) {
    ++alone_depth;
    return;
  }
  int count = inside.load(std::memory_order_relaxed);
  for (;;) {
    if (count == kAlone) {
      // Waiting is rare. A futex would add its bookkeeping to each LeaveAlone, which is not.
      sched_yield();
      count = inside.load(std::memory_order_relaxed);
    } else if (inside.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) {
      return;
    }
  }
}

void AtomicsGate::Leave() {
  if (alone_depth > 0) {
    --alone_depth;
  } else {
    inside.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace kiln
