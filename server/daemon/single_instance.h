// Ensures that at most one daemon serves a home per machine.
#ifndef KILN_SERVER_DAEMON_SINGLE_INSTANCE_H_
#define KILN_SERVER_DAEMON_SINGLE_INSTANCE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/home/home.h"

namespace kiln {

// The right to be the daemon of a home: a locked file and a listening socket. A fork inherits both;
// they are released when the last holder exits.
struct SingleInstance {
  int lock_fd = -1;
  int listen_fd = -1;
  std::string socket_path;
  uint64_t socket_inode = 0;
  bool managed = false;    // a service manager also listens on the socket, and keeps it
  std::vector<int> given;  // TCP sockets of a manager or a predecessor
};

// Becomes the daemon, or returns AlreadyExists once another one accepts connections. Takes over
// what a dead daemon left (socket, lock file, pid file). Waits until `deadline` for a daemon that
// is exiting.
//
// With `take_over`, asks a running daemon (SIGUSR2) to hand off: it releases the lock, accepts
// until our socket has replaced its own, then drains and exits. At every moment one of the two
// accepts. We receive its TCP sockets.
//
// `sockets` are a service manager's (listener.h); this function takes ownership. A unix socket
// among them must be the home's.
absl::StatusOr<SingleInstance> BecomeInstance(const Home& home, absl::Time deadline, bool take_over,
                                              const std::vector<int>& sockets);

// Sends our listening TCP sockets to the process that takes over, if it accepts them.
void GiveSockets(const SingleInstance& instance, pid_t successor, const std::vector<int>& fds);

// Whether the socket at the path is (still) that of `instance`.
bool HasSocket(const SingleInstance& instance);

// PermissionDenied unless a process of our user holds the other end of `fd`.
absl::Status CheckPeer(int fd);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SINGLE_INSTANCE_H_
