#include "server/daemon/fronts/front.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "server/daemon/workers/worker_process.h"
#include "server/front/front_channel.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

constexpr absl::Duration kMinPause = absl::Milliseconds(100);
constexpr absl::Duration kMaxPause = absl::Seconds(10);
// A process that ran for this time restarts at once.
constexpr absl::Duration kHealthy = absl::Minutes(1);

}  // namespace

void Front::Start() {
  {
    absl::MutexLock lock(&mutex_);
    // Not configured.
    if (listener_.address().empty()) return;
  }
  Serves(false);
  // A thread for each front: it waits for a process, which has no descriptor of our own loop.
  thread_ = std::thread([this] { Watch(); });
}

void Front::Serves(bool serves) const {
  Metrics::Get()
      .gauge("kiln_front_serves", program_.substr(program_.rfind('/') + 1))
      ->Set(serves ? 1 : 0);
}

std::vector<int> Front::Sockets() const {
  absl::MutexLock lock(&mutex_);
  return listener_.fds();
}

void Front::LetGo() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  if (pid_ < 0) return;
  // The front drains and exits by itself; it is the successor's from here on.
  SendWord(channel_, Word::kDrain).IgnoreError();
  pid_ = -1;
  // The other end still reads what was sent; RunOnce wakes up.
  shutdown(channel_, SHUT_RDWR);
}

void Front::Drain() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  // A front finishes its calls, closes the channel and exits; RunOnce sees the end.
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
    const absl::Time start = SteadyNow();
    const std::string end = RunOnce();
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    // A front that dies at once, such as for a bad certificate, restarts ever more slowly.
    if (SteadyNow() - start > kHealthy) pause = kMinPause;
    Log(program_, " ", end, "; restarting it in ", absl::FormatDuration(pause));
    PauseUnless(stopping_, pause, &mutex_);
    if (stopping_) return;
    pause = std::min(2 * pause, kMaxPause);
  }
}

absl::Status Front::Equip() {
  if (generation_ != nullptr) {
    const int fd = generation_->fd();
    RETURN_IF_ERROR(
        SendWord(channel_, Word::kGeneration, fd < 0 ? std::vector<int>() : std::vector<int>{fd}));
  }
  return SendWord(channel_, Word::kServe, listener_.fds());
}

absl::Status Front::Spawn() {
  // The daemon keeps the sockets across restarts of the front, so callers wait instead of being
  // refused.
  RETURN_IF_ERROR(listener_.Open());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  std::vector<std::string> args = args_;
  for (std::string& flag : LogFlags()) args.push_back(std::move(flag));
  const absl::StatusOr<pid_t> spawned = kiln::Spawn(program_, args, ends[1]);
  // Only the front may hold that end: its death then closes the channel.
  close(ends[1]);
  if (!spawned.ok()) {
    close(ends[0]);
    return spawned.status();
  }
  // A front that gets no sockets sees the end of the channel, and exits.
  pid_ = *spawned;
  channel_ = ends[0];
  if (!Equip().ok()) shutdown(channel_, SHUT_RDWR);
  return absl::OkStatus();
}

std::string Front::RunOnce() {
  pid_t pid;
  int channel;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return "ended";
    const absl::Status spawned = Spawn();
    if (!spawned.ok()) return absl::StrCat("does not start: ", spawned.message());
    pid = pid_;
    channel = channel_;
  }
  // Ends when the front closes the channel, or LetGo shuts it down.
  while (ReceiveWord(channel).word == Word::kServe) Serves(true);
  Serves(false);
  absl::MutexLock lock(&mutex_);
  close(std::exchange(channel_, -1));
  if (pid_ < 0) return "was handed off";
  // A front that has closed its channel serves nothing any more.
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? absl::StrCat("was ended by signal ", WTERMSIG(status), " (",
                                            strsignal(WTERMSIG(status)), ")")
                             : absl::StrCat("ended with status ", WEXITSTATUS(status));
}

}  // namespace kiln
