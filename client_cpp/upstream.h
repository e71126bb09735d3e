// What KILN_SERVER=HOST:PORT and its companions mean.
#ifndef KILN_CLIENT_CPP_UPSTREAM_H_
#define KILN_CLIENT_CPP_UPSTREAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace kiln {

// The kilnd at `server`. TLS, but to this machine itself (127.0.0.1, [::1], localhost);
// KILN_SERVER_CA names a file of the authorities that count, KILN_SERVER_TOKEN_FILE one
// with the token to show. InvalidArgument: neither HOST:PORT nor [V6]:PORT.
absl::StatusOr<proto::Upstream> ParseUpstream(const std::string& server);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_UPSTREAM_H_
