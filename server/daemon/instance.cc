#include "server/daemon/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

constexpr int kBacklog = 512;

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

bool Accepts(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // EAGAIN: its backlog is full, so there is someone.
  const bool accepts = result == 0 || errno == EAGAIN;
  close(fd);
  return accepts;
}

absl::StatusOr<int> Listen(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  unlink(address.sun_path);  // we hold the lock: whatever it is, it is stale
  const mode_t mask = umask(0177);
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  umask(mask);
  if (bound != 0 || listen(fd, kBacklog) != 0) {
    absl::Status status = absl::ErrnoToStatus(bound != 0 ? error : errno,
                                              absl::StrCat("cannot listen on ", address.sun_path));
    close(fd);
    return status;
  }
  return fd;
}

}  // namespace

absl::StatusOr<Instance> BecomeInstance(const Home& home, absl::Time deadline) {
  Instance instance;
  ASSIGN_OR_RETURN(instance.socket_path, home.SocketPath());
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(instance.socket_path));
  ASSIGN_OR_RETURN(instance.lock_fd, OpenLock(home, instance.socket_path));
  while (flock(instance.lock_fd, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    const bool served = held && Accepts(address);
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
  absl::StatusOr<int> listening = Listen(address);
  if (!listening.ok()) {
    close(instance.lock_fd);
    return listening.status();
  }
  instance.listen_fd = *listening;
  return instance;
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
