// One daemon a home, whoever starts how many.
#ifndef KILN_SERVER_DAEMON_INSTANCE_H_
#define KILN_SERVER_DAEMON_INSTANCE_H_

#include <string>

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
};

// Becomes the daemon, or AlreadyExists once another one accepts connections.
// What a dead daemon left (socket, lock file, pid file) is taken over. A daemon
// that is just ending is waited for, until `deadline`.
absl::StatusOr<Instance> BecomeInstance(const Home& home, absl::Time deadline);

// PermissionDenied unless the other end of `fd` is a process of our user.
absl::Status CheckPeer(int fd);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_INSTANCE_H_
