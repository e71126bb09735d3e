#include "client_cpp/daemon_breaker.h"

#include <utility>

#include "common/base/clock.h"

namespace kiln {
namespace {

constexpr absl::Duration kProbeEvery = absl::Milliseconds(500);
constexpr absl::Duration kAnswersWithin = absl::Milliseconds(2);
// How soon to retry starting a daemon.
constexpr absl::Duration kStartAgain = absl::Seconds(30);

}  // namespace

void DaemonBreaker::Open(const absl::Status& why, bool may_start) {
  MutexLock lock(&mutex_);
  why_ = why;
  may_start_ = may_start;
  opened_ = SteadyNow();
  next_probe_ = opened_;
  pending_.reset();
}

absl::Status DaemonBreaker::why() const {
  MutexLock lock(&mutex_);
  return why_;
}

bool DaemonBreaker::Close() {
  why_ = absl::OkStatus();
  pending_.reset();
  return true;
}

bool DaemonBreaker::MayCall(const std::string& socket_path, std::unique_ptr<Connection>* found) {
  MutexLock lock(&mutex_);
  if (why_.ok()) return true;
  return Probe(socket_path, found);
}

// Sends a greeting at most every kProbeEvery, and looks for its reply at later calls. So a program
// never waits for a hanging daemon, and still notices when the daemon answers again.
bool DaemonBreaker::Probe(const std::string& socket_path, std::unique_ptr<Connection>* found) {
  absl::Duration wait = absl::ZeroDuration();
  if (pending_ == nullptr) {
    const absl::Time now = SteadyNow();
    if (now - opened_ > kStartAgain) return Close();
    if (now < next_probe_) return false;
    next_probe_ = now + kProbeEvery;
    auto begun = Connection::Begin(socket_path);
    if (absl::IsNotFound(begun.status())) return may_start_ && Close();
    if (!begun.ok()) return false;
    pending_ = *std::move(begun);
    wait = kAnswersWithin;
  }
  const absl::StatusOr<bool> greeted = pending_->Greeted(wait);
  if (!greeted.ok()) {
    // It has exited, or refuses us: a call will find out.
    pending_.reset();
    return false;
  }
  if (!*greeted) return false;
  *found = std::move(pending_);
  return Close();
}

}  // namespace kiln
