#include "client_cpp/daemon_client.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client_cpp/spawn.h"
#include "common/base/child_stderr.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/regular_file.h"
#include "common/wire/error_detail.h"

namespace kiln {
namespace {

// A running daemon answers in well under a millisecond. If it does not answer within the first
// limit, it may be stopped, which /proc shows. Otherwise it gets more time, and on machines with a
// long run queue much more.
constexpr absl::Duration kFirstLook = absl::Milliseconds(100);
constexpr absl::Duration kHelloPatience = absl::Milliseconds(150);
constexpr absl::Duration kBusyHelloPatience = absl::Seconds(3);
// From exec to listening, on a machine where many processes start at once.
constexpr absl::Duration kStartPatience = absl::Seconds(3);
constexpr absl::Duration kBusyStartPatience = absl::Seconds(10);
constexpr absl::Duration kMinBackoff = absl::Milliseconds(1);
constexpr absl::Duration kMaxBackoff = absl::Milliseconds(20);
constexpr size_t kMaxIdle = 4;
// Attempts with connections of their own: of requests that a daemon may have died of, and in all.
// A daemon that drains takes no request any more. While builds replace each other's daemons, a
// process may meet several of these in a row.
constexpr int kMostSent = 2;
constexpr int kMostLost = 10;
// The pause after a refusal for a full queue without a hint when to retry.
constexpr absl::Duration kFirstRetry = absl::Milliseconds(20);
constexpr absl::Duration kLastRetry = absl::Milliseconds(500);
// The part (common/wire/error_detail.h) of our own error when a daemon is there and silent.
constexpr char kHangs[] = "hangs";

// More than two runnable threads per CPU: a slow answer proves nothing.
bool MachineIsBusy() {
  std::FILE* file = std::fopen("/proc/loadavg", "re");
  if (file == nullptr) return false;
  int running = 0;
  bool read = std::fscanf(file, "%*f %*f %*f %d/", &running) == 1;
  std::fclose(file);
  return read && running > 2 * sysconf(_SC_NPROCESSORS_ONLN);
}

// The daemon's process if it was stopped (SIGSTOP, a debugger); 0 otherwise. The recorded number
// may belong to another machine or to a later process, so the process's name is checked.
pid_t StoppedDaemon(const Home& home) {
  const int pid = NumberInFile(home.PidPath());
  if (pid <= 0) return 0;
  std::FILE* file = std::fopen(absl::StrCat("/proc/", pid, "/stat").c_str(), "re");
  if (file == nullptr) return 0;
  char name[16] = "";
  char state = 0;
  const bool read = std::fscanf(file, "%*d (%15[^)]) %c", name, &state) == 2;
  std::fclose(file);
  return read && name == absl::string_view("kilnd") && (state == 'T' || state == 't') ? pid : 0;
}

// Whether a client started that process as its daemon. A service belongs to its manager, and a
// process that we cannot inspect may belong to others.
bool IsAClients(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"), std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return absl::StrContains(words, absl::string_view("\0--daemonize\0", 13));
}

absl::Status Hangs(absl::string_view how) {
  absl::Status status =
      absl::UnavailableError(absl::StrCat("the daemon does not answer (", how, ")"));
  SetPart(&status, kHangs);
  return status;
}

absl::Status Stopped(pid_t pid) { return Hangs(absl::StrCat("process ", pid, " is stopped")); }

// Spreads retries, so that callers that were refused together do not return together.
absl::Duration Jittered(absl::Duration pause) {
  thread_local std::minstd_rand random(
      static_cast<unsigned>(absl::GetCurrentTimeNanos() ^ (int64_t{getpid()} << 16)));
  return pause * std::uniform_real_distribution<double>(0.75, 1.25)(random);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> DaemonClient::Open(const std::string& path,
                                                               absl::Duration patience) const {
  return Connection::Open(path, patience, wishes_);
}

absl::StatusOr<std::unique_ptr<Connection>> DaemonClient::OpenPatiently(
    const std::string& path) const {
  auto connection = Open(path, kFirstLook);
  if (absl::IsDeadlineExceeded(connection.status())) {
    if (const pid_t pid = StoppedDaemon(home_); pid > 0) return Stopped(pid);
    connection = Open(path, MachineIsBusy() ? kBusyHelloPatience : kHelloPatience);
    if (absl::IsDeadlineExceeded(connection.status())) return Hangs(connection.status().message());
  }
  // It is exiting (its file was replaced, or it was stopped): it counts as absent.
  if (absl::IsUnavailable(connection.status())) {
    return absl::NotFoundError(connection.status().message());
  }
  return connection;
}

absl::StatusOr<std::unique_ptr<Connection>> DaemonClient::StartAndConnect(const std::string& path) {
  MutexLock lock(&start_mutex_);
  // Another thread may have started it while this one waited.
  auto connection = OpenPatiently(path);
  if (!absl::IsNotFound(connection.status())) return connection;
  if (bin_dir_.empty()) return absl::UnavailableError("kilnd not found; set KILN_BIN");
  absl::Status created = home_.Create();
  if (!created.ok()) return absl::UnavailableError(created.message());
  const ChildStderr said;
  absl::StatusOr<pid_t> pid =
      Spawn(bin_dir_ + "/kilnd", {"--home=" + home_.dir(), "--bin=" + bin_dir_, "--daemonize"},
            /*pass=*/-1, said.fd());
  if (!pid.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the daemon: ", pid.status().message()));
  }
  // The new daemon may find that another process started one first; any daemon that listens will
  // do.
  const absl::Time give_up = SteadyNow() + (MachineIsBusy() ? kBusyStartPatience : kStartPatience);
  // The process that was started exits when its daemon accepts connections, or fails with a
  // message.
  const int exit_status = WaitForExit(*pid, give_up);
  for (absl::Duration pause = kMinBackoff;; pause = std::min(2 * pause, kMaxBackoff)) {
    connection = Open(path, kBusyHelloPatience);
    if (!absl::IsNotFound(connection.status())) return connection;
    // A moment may pass between the exit and the socket of another process's daemon.
    if (exit_status > 0 || SteadyNow() > give_up) {
      const std::string line = said.LastLine();
      return absl::UnavailableError(
          absl::StrCat("kilnd did not come up", line.empty() ? "; see " : ": ",
                       line.empty() ? home_.LogPath() : absl::StripPrefix(line, "kilnd: ")));
    }
    absl::SleepFor(pause);
  }
}

void DaemonClient::SetWantedCompiler(const Digest& id) {
  MutexLock lock(&mutex_);
  wanted_compiler_ = id;
}

bool DaemonClient::IsOutdated(const Connection& connection) {
  MutexLock lock(&mutex_);
  // Once: after a replacement that did not help, this process uses the daemon as it is.
  const Digest wanted = std::exchange(wanted_compiler_, Digest());
  auto id = Digest::FromBytes(connection.peer().compiler());
  return !wanted.empty() && id.ok() && !id->empty() && *id != wanted &&
         IsAClients(static_cast<pid_t>(connection.peer().pid()));
}

void DaemonClient::Dismiss(const std::string& path, std::unique_ptr<Connection> connection) {
  const absl::Time give_up = SteadyNow() + kBusyHelloPatience;
  proto::ShutdownReply reply;
  connection
      ->Call(FrameType::kShutdown, proto::ShutdownRequest(), FrameType::kShutdownReply, &reply,
             give_up)
      .IgnoreError();
  connection.reset();
  // A new daemon would otherwise find the old one accepting, and exit.
  while (SteadyNow() < give_up && Connection::Open(path, kFirstLook).ok()) {
    absl::SleepFor(kMinBackoff);
  }
}

absl::StatusOr<std::unique_ptr<Connection>> DaemonClient::Take(bool start, bool* reused) {
  {
    MutexLock lock(&mutex_);
    // The newest: kilnd may have closed older ones.
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
  return connection;
}

void DaemonClient::GiveBack(std::unique_ptr<Connection> connection) {
  // Its stream may contain the rest of a reply.
  if (connection->broken()) return;
  MutexLock lock(&mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
}

// While one request runs, checks over another connection that the daemon answers.
absl::Status DaemonClient::CheckAlive() {
  if (const pid_t pid = StoppedDaemon(home_); pid > 0) return Stopped(pid);
  ASSIGN_OR_RETURN(const std::string path, home_.SocketPath());
  absl::Status status =
      Connection::Open(path, MachineIsBusy() ? kBusyHelloPatience : kHelloPatience).status();
  if (absl::IsCancelled(status)) return status;
  // A daemon that refuses us is alive.
  return absl::IsDeadlineExceeded(status) ? Hangs(status.message()) : absl::OkStatus();
}

bool DaemonClient::Usable() {
  if (breaker_.why().ok()) return true;
  absl::StatusOr<std::string> path = home_.SocketPath();
  if (!path.ok()) return false;
  std::unique_ptr<Connection> found;
  const bool usable = breaker_.MayCall(*path, &found);
  // That connection's greeting did not name the upstream.
  if (wishes_.has_upstream()) found.reset();
  if (found != nullptr) GiveBack(std::move(found));
  return usable;
}

void DaemonClient::GiveUp(const absl::Status& why) {
  {
    MutexLock lock(&mutex_);
    idle_.clear();
  }
  breaker_.Open(why, /*may_start=*/PartOf(why) == kHangs);
}

absl::Status DaemonClient::Call(FrameType type, const google::protobuf::MessageLite& request,
                                FrameType reply_type, google::protobuf::MessageLite* reply,
                                absl::Time deadline, CompilerIds* compiler) {
  absl::Duration backoff = kFirstRetry;
  for (int lost = 0, sent = 0;;) {
    bool reused = false;
    auto connection = Take(/*start=*/true, &reused);
    absl::Status status = connection.status();
    if (status.ok()) {
      if (compiler != nullptr) {
        auto ids = (*connection)->compiler();
        if (ids.ok()) *compiler = *ids;
      }
      // A compilation may take long. The check asks over another connection whether the daemon
      // still lives.
      status = (*connection)->Call(type, request, reply_type, reply, deadline, [this] {
        return CheckAlive();
      });
      const bool broken = (*connection)->broken();
      const bool was_sent = (*connection)->sent();
      GiveBack(*std::move(connection));
      if (status.ok()) return status;
      if (broken) {
        if (absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
            PartOf(status) == kHangs) {
          return status;
        }
        // The daemon of a reused connection may have exited since.
        // All connections of the pool may be dead, and each costs one attempt; a fresh one counts.
        if (reused) continue;
        if (was_sent) ++sent;
        if (++lost < kMostLost && sent < kMostSent) continue;
        return absl::UnavailableError(absl::StrCat("lost the daemon: ", status.message()));
      }
    }
    // A full queue or a quota: the daemon is well, and says when to come back.
    if (!absl::IsResourceExhausted(status)) return status;
    const absl::Duration asked = RetryAfterOf(status);
    const absl::Duration pause = Jittered(asked > absl::ZeroDuration() ? asked : backoff);
    if (SteadyNow() + pause > deadline) return status;
    absl::SleepFor(pause);
    backoff = std::min(2 * backoff, kLastRetry);
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
    // A reused connection's daemon may have ended; the next attempt takes a fresh one.
    if (!broken || !reused) return status;
  }
}

void DaemonClient::AwaitEnd(absl::Time deadline) const {
  // The daemon holds this lock as long as it lives.
  const absl::StatusOr<Descriptor> lock = OpenRegularFile(home_.LockPath(), O_RDONLY);
  if (!lock.ok()) return;
  while (flock(lock->get(), LOCK_SH | LOCK_NB) != 0 && SteadyNow() < deadline) {
    absl::SleepFor(kMinBackoff);
  }
}

}  // namespace kiln
