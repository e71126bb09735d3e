// The clock of deadlines, pauses and durations. absl::Now() is for what people read and for
// files' times: it goes back, or an hour ahead, when somebody sets the machine's clock, and then
// a request would be out of time at once, or a breaker stay open until the hour has come again.
#ifndef KILN_COMMON_BASE_CLOCK_H_
#define KILN_COMMON_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln {

// The time of day when the process first asked, and since then evenly on: never back. To be
// compared with other values of this process alone. Thread-safe.
absl::Time SteadyNow();

// The time of day at which a deadline by SteadyNow() passes, as far as one can tell now: for
// libraries that take nothing else.
absl::Time TimeOfDay(absl::Time steady);

// Lets go of `mutex` for `limit` by SteadyNow(), or until `stop`, which it guards, is true.
// absl::Mutex's own waits end by the time of day.
void PauseUnless(const bool& stop, absl::Duration limit, absl::Mutex* mutex)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_CLOCK_H_
