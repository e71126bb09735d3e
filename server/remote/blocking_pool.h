// A thread pool for blocking tasks: creates threads on demand, up to a limit, and reuses them.
#ifndef KILN_SERVER_REMOTE_BLOCKING_POOL_H_
#define KILN_SERVER_REMOTE_BLOCKING_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln {

// Thread-safe. Never destroyed: its threads end with the process, whatever blocks them.
class BlockingPool {
 public:
  BlockingPool(int threads, size_t queue) : max_threads_(threads), max_queue_(queue) {}
  ~BlockingPool() = delete;

  // False, and the task does not run, if all threads are busy and the queue is full.
  bool Do(std::function<void()> task);

 private:
  static void* Thread(void* pool);
  void Work();

  const int max_threads_;
  const size_t max_queue_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_BLOCKING_POOL_H_
