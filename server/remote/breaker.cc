#include "server/remote/breaker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace kiln {
namespace {

// A miss or a refused argument shows that the server works.
bool IsServersAnswer(const absl::Status& status) {
  return status.ok() || absl::IsNotFound(status) || absl::IsInvalidArgument(status);
}

}  // namespace

Breaker::Breaker(std::string name, Options options)
    : name_(std::move(name)),
      options_([&options] {
        if (!options.now) options.now = SteadyNow;
        return std::move(options);
      }()),
      pause_(options_.pause) {}

bool Breaker::Allow() {
  absl::MutexLock lock(&mutex_);
  if (why_.ok()) return true;
  // A trial that never reports (its thread was cancelled) must not keep the breaker open.
  const absl::Time now = options_.now();
  if (now < again_) return false;
  // One request at a time tries the server; the others go on without it.
  trial_ = true;
  again_ = now + pause_;
  return true;
}

bool Breaker::Report(const absl::Status& status, int kind) {
  absl::MutexLock lock(&mutex_);
  if (IsServersAnswer(status)) {
    if (!why_.ok() && options_.log) options_.log(absl::StrCat(name_, " is used again"));
    failures_[kind] = 0;
    why_ = absl::OkStatus();
    trial_ = false;
    // Other kinds of requests may succeed while this kind still fails, so only its success resets
    // the pause.
    if (kind == opened_by_) pause_ = options_.pause;
    return false;
  }
  ++failures_[kind];
  if (trial_) {
    trial_ = false;
    why_ = status;
    pause_ = std::min(2 * pause_, options_.max_pause);
    again_ = options_.now() + pause_;
  } else if (why_.ok() &&
             // A failed precondition (another compiler, a missing right) does not pass by itself:
             // open at once.
             (failures_[kind] >= options_.failures || absl::IsFailedPrecondition(status))) {
    Open(status, kind);
  }
  return true;
}

void Breaker::Open(const absl::Status& status, int kind) {
  why_ = status;
  opened_by_ = kind;
  trial_ = false;
  again_ = options_.now() + pause_;
  if (options_.log) {
    options_.log(absl::IsFailedPrecondition(status)
                     ? absl::StrCat(name_, " is not used for now: ", status.message())
                     : absl::StrCat(name_, " is not used for now, after ", failures_[kind],
                                    " failures; the last: ", status.message()));
  }
}

absl::Status Breaker::why() const {
  absl::MutexLock lock(&mutex_);
  return why_;
}

}  // namespace kiln
