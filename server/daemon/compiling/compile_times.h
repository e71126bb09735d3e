// Recent compile times. They bound how long a daemon waits for another machine's compilation before
// it compiles itself.
#ifndef KILN_SERVER_DAEMON_COMPILING_COMPILE_TIMES_H_
#define KILN_SERVER_DAEMON_COMPILING_COMPILE_TIMES_H_

#include <algorithm>
#include <array>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln {

// Thread-safe.
class CompileTimes {
 public:
  void Add(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    last_[count_++ % last_.size()] = time;
  }

  // Twice the longest recent compilation, since the other machine may be slower or busier. A
  // default while there are few.
  absl::Duration Patience() const {
    absl::MutexLock lock(&mutex_);
    const absl::Duration longest = 2 * *std::max_element(last_.begin(), last_.end());
    return std::clamp(longest, count_ < kFew ? kGuess : kLeast, kMost);
  }

 private:
  static constexpr size_t kFew = 8;
  static constexpr absl::Duration kGuess = absl::Seconds(8);
  static constexpr absl::Duration kLeast = absl::Seconds(1);
  static constexpr absl::Duration kMost = absl::Seconds(60);

  mutable absl::Mutex mutex_;
  std::array<absl::Duration, 64> last_ ABSL_GUARDED_BY(mutex_){};
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_COMPILE_TIMES_H_
