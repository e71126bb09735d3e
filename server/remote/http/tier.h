// The simple HTTP form of a build cache as a shared tier: GET and PUT of /ac/HEX (an action's
// result) and /cas/HEX (a blob), as served by nginx with WebDAV, bazel-remote and others. The names
// equal those of a Remote Execution API client of the same server (server/remote/reapi/blob.h), so
// both forms share entries.
#ifndef KILN_SERVER_REMOTE_HTTP_TIER_H_
#define KILN_SERVER_REMOTE_HTTP_TIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Does not contact the server yet. InvalidArgument for contradictory settings. `Put` on a server
// that refuses our entries is PermissionDenied, each time.
absl::StatusOr<std::unique_ptr<RemoteTier>> MakeHttpTier(const proto::Http& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_HTTP_TIER_H_
