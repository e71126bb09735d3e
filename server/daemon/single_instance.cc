#include "server/daemon/single_instance.h"

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

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/regular_file.h"
#include "common/wire/framing.h"
#include "common/wire/unix_address.h"
#include "kiln/proto/service.pb.h"
#include "server/front/front_channel.h"

namespace kiln {
namespace {

// Programs that start together connect before any is accepted.
constexpr int kBacklog = 512;
constexpr absl::Duration kAskPatience = absl::Seconds(3);
// Each start of a daemon waits this long at most when a killed one still listens.
constexpr int kDropMs = 30;

absl::StatusOr<int> OpenLock(const std::string& path) {
  // Never deleted: two processes could otherwise lock two files of one name.
  absl::StatusOr<Descriptor> fd = OpenRegularFile(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (fd.ok()) return fd->Release();
  return absl::Status(fd.status().code(),
                      absl::StrCat("cannot open the lock: ", fd.status().message()));
}

// Whether a daemon runs. A killed one may still hold its socket while its threads end; it then
// drops the connection soon.
bool Accepts(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // EAGAIN: its backlog is full, so a daemon listens.
  bool accepts = result == 0 || errno == EAGAIN;
  pollfd dropped = {fd, POLLIN, 0};
  if (result == 0 && poll(&dropped, 1, kDropMs) > 0) accepts = false;
  close(fd);
  return accepts;
}

// Asks the daemon that listens at `address` to hand off, once per process. The daemon itself states
// its pid: the socket knows only the process that called listen, which may have been its starter.
void AskToHandOver(const sockaddr_un& address, pid_t* asked) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const absl::Time deadline = SteadyNow() + kAskPatience;
  proto::StatsReply stats;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      CheckPeer(fd).ok() &&
      WriteFrame(fd, FrameType::kStats, 1, proto::StatsRequest(), deadline).ok()) {
    const absl::StatusOr<Frame> frame = ReadFrame(fd, deadline);
    const auto pid = frame.ok() && ParseReply(*frame, FrameType::kStatsReply, &stats).ok()
                         ? static_cast<pid_t>(stats.pid())
                         : 0;
    // Once: a daemon that is draining still answers, and a second signal would be of no use.
    if (pid > 1 && pid != *asked && kill(pid, SIGUSR2) == 0) *asked = pid;
  }
  close(fd);
}

// The path at which the process `pid` creates the socket, before it renames it to `path`.
std::string AsidePath(const std::string& path, pid_t pid) { return absl::StrCat(path, ".", pid); }

absl::StatusOr<int> ListenAside(const std::string& path) {
  const std::string aside = AsidePath(path, getpid());
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(aside));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  // A leftover of a process that had our number.
  unlink(aside.c_str());
  // bind creates the file; a chmod after it would leave a moment in which others could connect.
  const mode_t mask = umask(0177);
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  umask(mask);
  if (bound != 0 || listen(fd, kBacklog) != 0) {
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

// The unix socket among `sockets` becomes the instance's; the fronts get the others.
absl::Status TakeSockets(const std::vector<int>& sockets, SingleInstance* instance) {
  for (const int fd : sockets) {
    sockaddr_un address = {};
    socklen_t size = sizeof address - 1;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("descriptor ", fd, " of $LISTEN_FDS"));
    }
    if (address.sun_family != AF_UNIX) {
      instance->given.push_back(fd);
      // Only the path that clients of this home use: at another one, no client would come.
    } else if (instance->socket_path == address.sun_path && !instance->managed) {
      instance->managed = true;
      instance->listen_fd = fd;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("the service manager listens on ", address.sun_path,
                       ", but this home's clients come to ", instance->socket_path));
    }
  }
  return absl::OkStatus();
}

// Receives the sockets that the predecessor sent (GiveSockets) before it released the lock.
void ReceiveSockets(SingleInstance* instance) {
  int fd;
  // Does not wait: the predecessor sent them before it released the lock, which we hold now.
  while ((fd = accept4(instance->listen_fd, nullptr, nullptr, SOCK_CLOEXEC)) >= 0) {
    if (CheckPeer(fd).ok()) {
      const Message message = ReceiveWord(fd);
      instance->given.insert(instance->given.end(), message.fds.begin(), message.fds.end());
    }
    close(fd);
  }
}

// Waits for the lock.
absl::Status Lock(const Home& home, const sockaddr_un& address, absl::Time deadline, bool take_over,
                  const SingleInstance& instance) {
  pid_t asked = 0;
  // Polled and not awaited: a daemon that hangs would otherwise hold us for ever, and the question
  // whether one accepts has to be asked meanwhile.
  while (flock(instance.lock_fd, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    if (!held) return absl::ErrnoToStatus(errno, "flock");
    // A service manager's socket accepts at all times, so it does not prove that a daemon runs.
    const bool accepts = !instance.managed && Accepts(address);
    // The lock alone does not say so: its holder may be exiting, and then we wait for it.
    if (accepts && !take_over) {
      return absl::AlreadyExistsError("a daemon of this home is running");
    }
    if (accepts) AskToHandOver(address, &asked);
    if (SteadyNow() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("another kilnd holds ", home.LockPath(), " but accepts no connections on ",
                       instance.socket_path, "; end that process and try again"));
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  return absl::OkStatus();
}

// Makes us the daemon of `instance`, whose descriptors are closed by the caller otherwise.
absl::Status Become(const Home& home, absl::Time deadline, bool take_over,
                    SingleInstance* instance) {
  const std::string& path = instance->socket_path;
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  ASSIGN_OR_RETURN(instance->lock_fd, OpenLock(home.LockPath()));
  // The predecessor sends its sockets there before it releases the lock.
  if (take_over && !instance->managed) {
    ASSIGN_OR_RETURN(instance->listen_fd, ListenAside(path));
  }
  RETURN_IF_ERROR(Lock(home, address, deadline, take_over, *instance));
  // The manager's socket is bound already, and outlives us.
  if (instance->managed) return absl::OkStatus();
  if (take_over) {
    ReceiveSockets(instance);
  } else {
    ASSIGN_OR_RETURN(instance->listen_fd, ListenAside(path));
  }
  // Renames, so that the socket at `path` accepts at every moment. We hold the lock: an existing
  // socket there is stale, or belongs to a predecessor that waits for this.
  if (rename(AsidePath(path, getpid()).c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot listen on ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SingleInstance> BecomeInstance(const Home& home, absl::Time deadline, bool take_over,
                                              const std::vector<int>& sockets) {
  SingleInstance instance;
  ASSIGN_OR_RETURN(instance.socket_path, home.SocketPath());
  RETURN_IF_ERROR(TakeSockets(sockets, &instance));
  absl::Status became = Become(home, deadline, take_over, &instance);
  if (!became.ok()) {
    unlink(AsidePath(instance.socket_path, getpid()).c_str());
    for (const int fd : {instance.lock_fd, instance.listen_fd}) {
      if (fd >= 0) close(fd);
    }
    return became;
  }
  // Identifies our socket later, when another one may have its name.
  instance.socket_inode = InodeOf(instance.socket_path);
  return instance;
}

void GiveSockets(const SingleInstance& instance, pid_t successor, const std::vector<int>& fds) {
  const absl::StatusOr<sockaddr_un> address =
      UnixAddress(AsidePath(instance.socket_path, successor));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  // A daemon that does not listen there ignores this, and binds its own.
  if (address.ok() &&
      connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 &&
      CheckPeer(fd).ok()) {
    SendWord(fd, Word::kServe, fds).IgnoreError();
  }
  close(fd);
}

bool HasSocket(const SingleInstance& instance) {
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
