// The simple HTTP form of a build cache as a shared tier: GET and PUT of /ac/HEX (an
// action's result) and /cas/HEX (a blob), as nginx with WebDAV, bazel-remote and others
// serve it. The names are those that the same server knows from a Remote Execution API
// client (server/remote/reapi/blob.h), so both forms share entries.
#ifndef KILN_SERVER_REMOTE_HTTP_TIER_H_
#define KILN_SERVER_REMOTE_HTTP_TIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Asks the server nothing yet. InvalidArgument for what cannot be meant. Of the tier:
// `Put` on a server that takes nothing from us is PermissionDenied, each time.
absl::StatusOr<std::unique_ptr<RemoteTier>> MakeHttpTier(const proto::Http& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_HTTP_TIER_H_
