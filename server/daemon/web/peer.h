// Who is at the other end of a local TCP connection.
#ifndef KILN_SERVER_DAEMON_WEB_PEER_H_
#define KILN_SERVER_DAEMON_WEB_PEER_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include "absl/strings/string_view.h"

namespace kiln {

// Whether the process that holds the other end of a connection runs as this user (or as
// root): the system's table of connections tells. `peer` is its address, `port` ours.
bool IsOwnUser(const sockaddr* peer, int port);

// Whether the Host header of a request names this machine's loopback: a page of another
// site that has its own name point here does not.
bool IsLoopbackHost(absl::string_view host);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WEB_PEER_H_
