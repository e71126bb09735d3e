#include "client_cpp/daemon_client.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client_cpp/spawn.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

// A running daemon answers in well under a millisecond; one that does not within
// this is taken to hang. Machines with a long run queue get more.
constexpr absl::Duration kHelloPatience = absl::Milliseconds(300);
constexpr absl::Duration kBusyHelloPatience = absl::Seconds(3);
// From exec to listening, on a machine where many start at once.
constexpr absl::Duration kStartPatience = absl::Seconds(10);
constexpr absl::Duration kMinBackoff = absl::Milliseconds(1);
constexpr absl::Duration kMaxBackoff = absl::Milliseconds(20);
constexpr size_t kMaxIdle = 4;

// More than two runnable threads a CPU: a slow answer says nothing.
bool MachineIsBusy() {
  std::FILE* file = std::fopen("/proc/loadavg", "re");
  if (file == nullptr) return false;
  int running = 0;
  bool read = std::fscanf(file, "%*f %*f %*f %d/", &running) == 1;
  std::fclose(file);
  return read && running > 2 * sysconf(_SC_NPROCESSORS_ONLN);
}

absl::StatusOr<std::unique_ptr<Connection>> OpenPatiently(const std::string& path) {
  auto connection = Connection::Open(path, kHelloPatience);
  if (absl::IsDeadlineExceeded(connection.status()) && MachineIsBusy()) {
    connection = Connection::Open(path, kBusyHelloPatience);
  }
  // It is ending (its file was replaced, or someone stopped it): as good as gone.
  if (absl::IsUnavailable(connection.status())) {
    return absl::NotFoundError(connection.status().message());
  }
  return connection;
}

absl::Status Hangs(const absl::Status& status) {
  return absl::UnavailableError(
      absl::StrCat("the daemon does not answer (", status.message(), ")"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> DaemonClient::StartAndConnect(const std::string& path) {
  absl::MutexLock lock(&start_mutex_);
  // Another thread may have started it while this one waited.
  auto connection = OpenPatiently(path);
  if (!absl::IsNotFound(connection.status())) return connection;
  if (bin_dir_.empty()) return absl::UnavailableError("kilnd not found; set KILN_BIN");
  absl::Status created = home_.Create();
  if (!created.ok()) return absl::UnavailableError(created.message());
  absl::StatusOr<pid_t> pid =
      Spawn(bin_dir_ + "/kilnd", {"--home=" + home_.dir(), "--bin=" + bin_dir_, "--daemonize"},
            /*pass=*/-1, /*quiet=*/true);
  if (!pid.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the daemon: ", pid.status().message()));
  }
  // The one that was started may find that another process's is there already: what
  // counts is that somebody listens.
  const absl::Time give_up = absl::Now() + kStartPatience;
  const int exit_status = WaitForExit(*pid);
  for (absl::Duration pause = kMinBackoff;; pause = std::min(2 * pause, kMaxBackoff)) {
    connection = Connection::Open(path, kBusyHelloPatience);
    if (!absl::IsNotFound(connection.status())) return connection;
    if (exit_status > 0 || absl::Now() > give_up) {
      return absl::UnavailableError(absl::StrCat("kilnd did not come up; see ", home_.LogPath()));
    }
    absl::SleepFor(pause);
  }
}

void DaemonClient::SetWantedCompiler(const Digest& id) {
  absl::MutexLock lock(&mutex_);
  wanted_compiler_ = id;
}

bool DaemonClient::IsOutdated(const Connection& connection) {
  absl::MutexLock lock(&mutex_);
  const Digest wanted = std::exchange(wanted_compiler_, Digest());
  auto id = Digest::FromBytes(connection.peer().compiler());
  return !wanted.empty() && id.ok() && !id->empty() && *id != wanted;
}

void DaemonClient::Dismiss(const std::string& path, std::unique_ptr<Connection> connection) {
  const absl::Time give_up = absl::Now() + kBusyHelloPatience;
  proto::ShutdownReply reply;
  connection
      ->Call(FrameType::kShutdown, proto::ShutdownRequest(), FrameType::kShutdownReply, &reply,
             give_up)
      .IgnoreError();
  connection.reset();
  while (absl::Now() < give_up && Connection::Open(path, kHelloPatience).ok()) {
    absl::SleepFor(kMinBackoff);
  }
}

absl::StatusOr<std::unique_ptr<Connection>> DaemonClient::Take(bool start, bool* reused) {
  {
    absl::MutexLock lock(&mutex_);
    if (*reused = !idle_.empty(); *reused) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  ASSIGN_OR_RETURN(const std::string path, home_.SocketPath());
  auto connection = OpenPatiently(path);
  if (start && connection.ok() && IsOutdated(**connection)) {
    Dismiss(path, *std::move(connection));
    connection = absl::NotFoundError("dismissed");
  }
  if (start && absl::IsNotFound(connection.status())) connection = StartAndConnect(path);
  if (absl::IsDeadlineExceeded(connection.status())) return Hangs(connection.status());
  return connection;
}

void DaemonClient::GiveBack(std::unique_ptr<Connection> connection) {
  if (connection->broken()) return;
  absl::MutexLock lock(&mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
}

// While one request takes its time, another connection tells whether anyone is there.
absl::Status DaemonClient::CheckAlive() {
  ASSIGN_OR_RETURN(const std::string path, home_.SocketPath());
  auto connection = Connection::Open(path, kBusyHelloPatience);
  if (connection.ok()) return absl::OkStatus();
  return Hangs(connection.status());
}

absl::Status DaemonClient::Call(FrameType type, const google::protobuf::MessageLite& request,
                                FrameType reply_type, google::protobuf::MessageLite* reply,
                                absl::Time deadline, Digest* compiler) {
  absl::Duration pause = absl::Milliseconds(20);
  for (int lost = 0;;) {
    bool reused = false;
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Take(/*start=*/true, &reused));
    if (compiler != nullptr) {
      if (auto id = Digest::FromBytes(connection->peer().compiler()); id.ok()) *compiler = *id;
    }
    absl::Status status = connection->Call(type, request, reply_type, reply, deadline,
                                           [this] { return CheckAlive(); });
    const bool broken = connection->broken();
    GiveBack(std::move(connection));
    if (status.ok()) return status;
    if (broken) {
      if (absl::IsDeadlineExceeded(status)) return status;
      // A connection kept from earlier may be to a daemon that has gone since.
      if (reused || ++lost < 2) continue;
      return absl::UnavailableError(absl::StrCat("lost the daemon: ", status.message()));
    }
    if (!absl::IsResourceExhausted(status) || absl::Now() + pause > deadline) return status;
    absl::SleepFor(pause);
    pause = std::min(2 * pause, absl::Milliseconds(500));
  }
}

absl::Status DaemonClient::CallIfRunning(FrameType type,
                                         const google::protobuf::MessageLite& request,
                                         FrameType reply_type, google::protobuf::MessageLite* reply,
                                         absl::Time deadline) {
  for (;;) {
    bool reused = false;
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Take(/*start=*/false, &reused));
    absl::Status status = connection->Call(type, request, reply_type, reply, deadline);
    const bool broken = connection->broken();
    GiveBack(std::move(connection));
    if (!broken || !reused) return status;
  }
}

void DaemonClient::AwaitEnd(absl::Time deadline) const {
  // The daemon has this lock as long as it lives.
  const int fd = open(home_.LockPath().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  while (flock(fd, LOCK_SH | LOCK_NB) != 0 && absl::Now() < deadline) {
    absl::SleepFor(kMinBackoff);
  }
  close(fd);
}

}  // namespace kiln
