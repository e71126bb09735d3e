// Contacts every server of a configuration once, for people who set one up (`kiln doctor`).
#ifndef KILN_SERVER_REMOTE_TRY_SERVERS_H_
#define KILN_SERVER_REMOTE_TRY_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kiln/proto/remote.pb.h"

namespace kiln {

struct TriedServer {
  std::string name;     // of the tier, else its kind; "execution"
  absl::Status status;  // why it cannot be used: unreachable, no TLS, a token it does not know…
  std::string lacks;    // an operation that is not permitted there though the server is usable; "":
                        // none known
};

// Looks up a key that does not exist, and asks for the server's capabilities; changes nothing
// there. Takes at most some seconds per server.
std::vector<TriedServer> TryServers(const proto::Configure& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_TRY_SERVERS_H_
