#include "server/daemon/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/framing.h"
#include "lang/status_macros.h"
#include "proto/service.pb.h"

namespace kiln {
namespace {

constexpr int kBacklog = 512;
constexpr absl::Duration kAskPatience = absl::Seconds(3);
constexpr int kDropMs = 30;

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat("socket path too long: ", path));
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// A home that cannot be written has its lock beside the socket.
absl::StatusOr<int> OpenLock(const Home& home, const std::string& socket_path) {
  int error = 0;
  for (const std::string& path : {home.LockPath(), socket_path + ".lock"}) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) return fd;
    error = errno;
  }
  return absl::ErrnoToStatus(error, absl::StrCat("cannot open ", socket_path, ".lock"));
}

// Whether a daemon is there. One that was killed may still hold its socket while its threads
// end: it then drops the connection soon.
bool Accepts(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // EAGAIN: its backlog is full, so there is someone.
  bool accepts = result == 0 || errno == EAGAIN;
  pollfd dropped = {fd, POLLIN, 0};
  if (result == 0 && poll(&dropped, 1, kDropMs) > 0) accepts = false;
  close(fd);
  return accepts;
}

// Asks the daemon that listens at `address` to hand over, once each process. Its id comes
// from itself: the socket knows only who began to listen, which may have been its starter.
void AskToHandOver(const sockaddr_un& address, pid_t* asked) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const absl::Time deadline = absl::Now() + kAskPatience;
  proto::StatsReply stats;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      CheckPeer(fd).ok() &&
      WriteFrame(fd, FrameType::kStats, 1, proto::StatsRequest(), deadline).ok()) {
    const absl::StatusOr<Frame> frame = ReadFrame(fd, deadline);
    const auto pid = frame.ok() && ParseReply(*frame, FrameType::kStatsReply, &stats).ok()
                         ? static_cast<pid_t>(stats.pid())
                         : 0;
    if (pid > 1 && pid != *asked && kill(pid, SIGUSR2) == 0) *asked = pid;
  }
  close(fd);
}

// The socket is made aside and renamed, so that at `path` there is always one that accepts.
// We hold the lock: what lies there is stale, or a predecessor's who waits for this.
absl::StatusOr<int> Listen(const std::string& path) {
  const std::string aside = absl::StrCat(path, ".", getpid());
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(aside));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  unlink(aside.c_str());
  const mode_t mask = umask(0177);
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  umask(mask);
  if (bound != 0 || listen(fd, kBacklog) != 0 || rename(aside.c_str(), path.c_str()) != 0) {
    absl::Status status =
        absl::ErrnoToStatus(bound != 0 ? error : errno, absl::StrCat("cannot listen on ", path));
    unlink(aside.c_str());
    close(fd);
    return status;
  }
  return fd;
}

uint64_t InodeOf(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

}  // namespace

absl::StatusOr<Instance> BecomeInstance(const Home& home, absl::Time deadline, bool take_over) {
  pid_t asked = 0;
  Instance instance;
  ASSIGN_OR_RETURN(instance.socket_path, home.SocketPath());
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(instance.socket_path));
  ASSIGN_OR_RETURN(instance.lock_fd, OpenLock(home, instance.socket_path));
  while (flock(instance.lock_fd, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    const bool accepts = held && Accepts(address);
    if (accepts && take_over) AskToHandOver(address, &asked);
    const bool served = accepts && !take_over;
    const bool late = absl::Now() > deadline;
    if (!held || served || late) {
      const int error = errno;
      close(instance.lock_fd);
      if (served) return absl::AlreadyExistsError("a daemon of this home is running");
      if (!held) return absl::ErrnoToStatus(error, "flock");
      return absl::DeadlineExceededError(
          absl::StrCat("another kilnd holds ", home.LockPath(), " but accepts no connections on ",
                       instance.socket_path, "; end that process and try again"));
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  absl::StatusOr<int> listening = Listen(instance.socket_path);
  if (!listening.ok()) {
    close(instance.lock_fd);
    return listening.status();
  }
  instance.listen_fd = *listening;
  instance.socket_inode = InodeOf(instance.socket_path);
  return instance;
}

bool HasSocket(const Instance& instance) {
  return InodeOf(instance.socket_path) == instance.socket_inode;
}

absl::Status CheckPeer(int fd) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::ErrnoToStatus(errno, "SO_PEERCRED");
  }
  if (peer.uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("process ", peer.pid, " of user ", peer.uid, " is not of this daemon's user"));
  }
  return absl::OkStatus();
}

}  // namespace kiln
