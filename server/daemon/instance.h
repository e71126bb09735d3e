// One daemon a home and machine, whoever starts how many.
#ifndef KILN_SERVER_DAEMON_INSTANCE_H_
#define KILN_SERVER_DAEMON_INSTANCE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lang/home.h"

namespace kiln {

// The right to be the daemon of a home: a locked file and a listening socket,
// both inherited by a fork and given back by the end of the last holder.
struct Instance {
  int lock_fd = -1;
  int listen_fd = -1;
  std::string socket_path;
  uint64_t socket_inode = 0;
  bool managed = false;    // a service manager listens on the socket, too, and keeps it
  std::vector<int> given;  // TCP sockets that a manager or a predecessor listened on
};

// Becomes the daemon, or AlreadyExists once another one accepts connections.
// What a dead daemon left (socket, lock file, pid file) is taken over. A daemon
// that is just ending is waited for, until `deadline`.
//
// With `take_over` a daemon that runs is asked (SIGUSR2) to let us be its successor: it
// lets go of the lock, accepts until our socket has taken the place of its own, and ends
// when what it has begun is done. At no time does nobody accept. Its TCP sockets are ours,
// then.
//
// `sockets` are a service manager's (listener.h), our own from here on. A unix socket among
// them must be the home's.
absl::StatusOr<Instance> BecomeInstance(const Home& home, absl::Time deadline, bool take_over,
                                        const std::vector<int>& sockets);

// Sends the TCP sockets that we listen on to the process that asked for our place, if it
// takes them.
void GiveSockets(const Instance& instance, pid_t successor, const std::vector<int>& fds);

// Whether the socket at the path is (still) the one of `instance`.
bool HasSocket(const Instance& instance);

// PermissionDenied unless the other end of `fd` is a process of our user.
absl::Status CheckPeer(int fd);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_INSTANCE_H_
