#include "server/daemon/front.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/daemon/log.h"
#include "server/daemon/worker_process.h"

namespace kiln {
namespace {

constexpr absl::Duration kMinPause = absl::Milliseconds(100);
constexpr absl::Duration kMaxPause = absl::Seconds(10);
// Who ran for so long starts again at once.
constexpr absl::Duration kHealthy = absl::Minutes(1);

}  // namespace

void Front::Start() {
  thread_ = std::thread([this] { Watch(); });
}

void Front::Drain() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  if (pid_ > 0) kill(pid_, SIGTERM);
}

bool Front::running() const {
  absl::MutexLock lock(&mutex_);
  return pid_ > 0;
}

void Front::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (pid_ > 0) kill(pid_, SIGKILL);
  }
  if (thread_.joinable()) thread_.join();
}

void Front::Watch() {
  absl::Duration pause = kMinPause;
  while (true) {
    const absl::Time start = absl::Now();
    const std::string end = RunOnce();
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    if (absl::Now() - start > kHealthy) pause = kMinPause;
    Log(program_, " ", end, "; it is started again in ", absl::FormatDuration(pause));
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), pause);
    if (stopping_) return;
    pause = std::min(2 * pause, kMaxPause);
  }
}

std::string Front::RunOnce() {
  pid_t pid;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return "ended";
    const absl::StatusOr<pid_t> spawned = Spawn(program_, args_, /*fd=*/-1);
    if (!spawned.ok()) return absl::StrCat("does not start: ", spawned.status().message());
    pid = pid_ = *spawned;
  }
  // Left a zombie until the lock is held, so that nobody signals another's process.
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  int status = 0;
  absl::MutexLock lock(&mutex_);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? absl::StrCat("was ended by signal ", WTERMSIG(status), " (",
                                            strsignal(WTERMSIG(status)), ")")
                             : absl::StrCat("ended with status ", WEXITSTATUS(status));
}

}  // namespace kiln
