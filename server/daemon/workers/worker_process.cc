#include "server/daemon/workers/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/file_limit.h"
#include "common/base/status_macros.h"
#include "common/wire/version.h"

namespace kiln {
namespace {

// Loading LLVM, perhaps from a cold disk while all cores compile.
constexpr absl::Duration kStartLimit = absl::Seconds(30);
// For one frame. It suffices because an idle worker reads immediately, and a worker sends an answer
// only when it is complete.
constexpr absl::Duration kTransferLimit = absl::Seconds(15);
// The worker's descriptor of the channel.
constexpr int kWorkerFd = 3;

}  // namespace

absl::StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& args,
                            int fd, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // posix_spawn, because a fork of a process with many threads may only call few functions.
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors, 2);
  if (fd >= 0) posix_spawn_file_actions_adddup2(&actions, fd, kWorkerFd);

  // The child would inherit our blocked and ignored signals. In its own session, it does not get
  // the signals of our terminal: we end it ourselves.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);

  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot run ", program));
  return pid;
}

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const Options& options) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  std::vector<std::string> args = {absl::StrCat("--fd=", kWorkerFd),
                                   absl::StrCat("--memory-bytes=", options.memory_bytes)};
  if (options.unconfined) args.push_back("--unconfined");
  auto said = std::make_unique<ChildStderr>();
  absl::StatusOr<pid_t> pid = Spawn(options.program, args, ends[1], said->fd());
  // Ours would keep the channel open after the worker's death.
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(options, *pid, ends[0], std::move(said)));
  proto::Hello hello;
  // Exactly ours: a worker is a file beside the daemon, and another version means a half-done
  // update.
  hello.set_protocol(kProtocolVersion);
  hello.set_build(kVersion);
  absl::StatusOr<Frame> answer =
      worker->Exchange(FrameType::kHello, hello.SerializeAsString(), SteadyNow() + kStartLimit);
  proto::HelloReply reply;
  absl::Status status =
      answer.ok() ? ParseReply(*answer, FrameType::kHelloReply, &reply) : answer.status();
  if (status.ok() && reply.protocol() != kProtocolVersion) {
    status = absl::FailedPreconditionError(absl::StrCat("speaks protocol ", reply.protocol()));
  }
  if (!status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat(options.program, " did not start: ", status.message(), TooSmallFiles()));
  }
  if (options.greeted) options.greeted(reply);
  return worker;
}

WorkerProcess::WorkerProcess(const Options& options, pid_t pid, int fd,
                             std::unique_ptr<ChildStderr> said)
    : options_(options), pid_(pid), fd_(fd), said_(std::move(said)) {}

WorkerProcess::~WorkerProcess() {
  Reap();
  close(fd_);
}

absl::StatusOr<Frame> WorkerProcess::Run(FrameType type, absl::string_view request,
                                         absl::Time deadline) {
  ++jobs_;
  return Exchange(type, request, deadline);
}

absl::StatusOr<Frame> WorkerProcess::Exchange(FrameType type, absl::string_view body,
                                              absl::Time deadline) {
  const uint32_t id = next_id_++;
  absl::Status sent =
      WriteFrame(fd_, type, id, body, std::min(deadline, SteadyNow() + kTransferLimit));
  while (sent.ok()) {
    if (options_.stopped && options_.stopped()) return absl::CancelledError("cancelled");
    const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    // The caller ends this worker: it is busy with a job that nothing waits for.
    if (left <= 0) return absl::DeadlineExceededError("no answer in time");
    pollfd fds[2] = {{fd_, POLLIN, 0}, {options_.wake_fd, POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(std::min<int64_t>(left, INT_MAX))) < 0 && errno != EINTR) {
      return absl::ErrnoToStatus(errno, "poll");
    }
    if (fds[0].revents != 0) break;
    if (fds[1].revents != 0) {
      uint64_t drained;
      // The event only means "look again": `stopped` decides.
      if (read(options_.wake_fd, &drained, sizeof drained) < 0 && errno != EAGAIN) break;
    }
  }
  absl::StatusOr<Frame> frame = sent.ok() ? ReadFrame(fd_, SteadyNow() + kTransferLimit) : sent;
  // A frame of another id belongs to an earlier request. The stream is then no longer usable.
  if (frame.ok() && frame->id == id) return frame;
  if (absl::IsDeadlineExceeded(frame.status())) return frame.status();
  // Any other failure means that the process ended or is out of step. Its end explains most of
  // them.
  const std::string reason = frame.ok() ? "it answered another request"
                             : absl::IsInvalidArgument(frame.status())
                                 ? std::string(frame.status().message())
                                 : "";
  const std::string end = Reap();
  return absl::UnavailableError(reason.empty() ? end : absl::StrCat(reason, "; ", end));
}

bool WorkerProcess::Alive() const {
  pollfd entry = {fd_, POLLIN, 0};
  // Between jobs a worker sends nothing: readable means that it exited or is out of step.
  return pid_ > 0 && poll(&entry, 1, 0) == 0;
}

uint64_t WorkerProcess::ResidentBytes() const {
  std::FILE* file = std::fopen(absl::StrCat("/proc/", pid_, "/statm").c_str(), "re");
  if (file == nullptr) return 0;
  unsigned long long size = 0, resident = 0;
  const int fields = std::fscanf(file, "%llu %llu", &size, &resident);
  std::fclose(file);
  return fields == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::string WorkerProcess::Reap() {
  if (pid_ <= 0) return "ended";
  // Workers keep nothing: what they do is lost in any case, and SIGKILL cannot be caught.
  kill(pid_, SIGKILL);
  int status = 0;
  pid_t waited;
  do {
    waited = waitpid(pid_, &status, 0);
  } while (waited < 0 && errno == EINTR);
  pid_ = -1;
  if (waited < 0) return "ended";
  const int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const std::string end = sig != 0
                              ? absl::StrCat("killed by signal ", sig, " (", strsignal(sig), ")")
                              : absl::StrCat("exited with status ", WEXITSTATUS(status));
  const std::string last = said_->LastLine();
  return last.empty() ? end : absl::StrCat(end, "; it said: ", last);
}

}  // namespace kiln
