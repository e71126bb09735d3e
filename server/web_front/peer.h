// Identifies the process at the other end of a local TCP connection.
#ifndef KILN_SERVER_WEB_FRONT_PEER_H_
#define KILN_SERVER_WEB_FRONT_PEER_H_

#include <sys/socket.h>

#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// Whether a process of this user, or of root, holds the other end of the TCP connection `fd`, which
// must come from this machine. Reads the system's tables of connections.
bool IsOwnUser(int fd);

// Whether a row of /proc/net/tcp or tcp6 is an established connection from `peer` to `own`
// ("0100007F:1F90") that a process of `uid` or of root holds. Rows of closed sockets state root as
// their user, so they prove nothing.
bool IsHeldBy(absl::string_view row, const std::string& peer, const std::string& own, unsigned uid);

// Whether the Host header of a request names this machine's loopback. A page of another site could
// resolve its own name to loopback.
bool IsLoopbackHost(absl::string_view host);

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_PEER_H_
