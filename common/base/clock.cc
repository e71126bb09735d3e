#include "common/base/clock.h"

#include <time.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "common/base/first_use.h"

namespace kiln {
namespace {

// The longest delay before a thread notices the end of its pause.
constexpr absl::Duration kSlice = absl::Milliseconds(25);

absl::Duration SinceBoot() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

absl::Time SteadyNow() {
  static FirstUse<absl::Time> boot;
  return boot.Get([] { return absl::Now() - SinceBoot(); }) + SinceBoot();
}

absl::Time TimeOfDay(absl::Time steady) { return absl::Now() + (steady - SteadyNow()); }

void PauseUnless(const bool& stop, absl::Duration limit, absl::Mutex* mutex) {
  const absl::Time end = SteadyNow() + limit;
  while (!stop) {
    const absl::Duration left = end - SteadyNow();
    if (left <= absl::ZeroDuration()) return;
    mutex->Unlock();
    absl::SleepFor(std::min(left, kSlice));
    mutex->Lock();
  }
}

}  // namespace kiln
