// Threads for calls that take their time: made when needed, kept for the next.
#ifndef KILN_SERVER_DAEMON_SERVICE_SLOW_CALLS_H_
#define KILN_SERVER_DAEMON_SERVICE_SLOW_CALLS_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln {

// Thread-safe.
class SlowCalls {
 public:
  explicit SlowCalls(int most) : most_(most) {}
  // Waits for all that was given to it.
  ~SlowCalls();

  // Has `work` run soon; false where too many are at work.
  bool Run(std::function<void()> work);

 private:
  static void* Thread(void* self);
  void Work();

  const int most_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_SLOW_CALLS_H_
