// Parses KILN_SERVER=HOST:PORT and its companion variables.
#ifndef KILN_CLIENT_CPP_UPSTREAM_H_
#define KILN_CLIENT_CPP_UPSTREAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "kiln/proto/config.pb.h"

namespace kiln {

// The kilnd at `server`. Uses TLS; to this machine itself (127.0.0.1, [::1], localhost) only if one
// of the TLS files is named: KILN_SERVER_CA, the trusted authorities, or KILN_SERVER_CERTIFICATE
// and KILN_SERVER_KEY, the client certificate. KILN_SERVER_TOKEN_FILE contains the token to send.
// InvalidArgument: neither HOST:PORT nor [V6]:PORT, or a certificate without its key.
absl::StatusOr<proto::Upstream> ParseUpstream(const std::string& server);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_UPSTREAM_H_
