// Every server of a configuration asked once, for people who set one up (`kiln doctor`).
#ifndef KILN_SERVER_REMOTE_TRY_SERVERS_H_
#define KILN_SERVER_REMOTE_TRY_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/remote.pb.h"

namespace kiln {

struct TriedServer {
  std::string name;     // of the tier, else its kind; "execution"
  absl::Status status;  // why it cannot be used: unreachable, no TLS, a token it does not know…
  std::string lacks;    // what may not be done there though it is used; "": nothing that we know
};

// Looks up a key that nobody has, and asks what the server can do; changes nothing there.
// Takes at most some seconds for each.
std::vector<TriedServer> TryServers(const proto::Configure& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_TRY_SERVERS_H_
