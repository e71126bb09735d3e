// The clock for deadlines, pauses and durations. absl::Now() is for displayed times and files'
// times: it jumps when the machine's clock is set. A request could then time out at once, or a
// breaker stay open for hours.
#ifndef KILN_COMMON_BASE_CLOCK_H_
#define KILN_COMMON_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln {

// The time of day when the process first asked, advancing evenly since; never goes back. Compare it
// only with other values of this process. Thread-safe.
absl::Time SteadyNow();

// The time of day at which a deadline by SteadyNow() passes, by the present clock: for libraries
// that accept nothing else.
absl::Time TimeOfDay(absl::Time steady);

// Releases `mutex` and waits up to `limit` by SteadyNow(), or until `stop`, which it guards,
// becomes true. absl::Mutex's own timed waits use the time of day.
void PauseUnless(const bool& stop, absl::Duration limit, absl::Mutex* mutex)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_CLOCK_H_
