// A Remote Execution API server as a shared tier: each entry is the result of an action
// in its action cache, its bytes a blob of its content-addressed storage
// (blob.h: EntryActionOf).
#ifndef KILN_SERVER_REMOTE_REAPI_TIER_H_
#define KILN_SERVER_REMOTE_REAPI_TIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Does not contact the server yet. InvalidArgument for contradictory settings. `Put` on a server
// that accepts no results is PermissionDenied, each time.
absl::StatusOr<std::unique_ptr<RemoteTier>> MakeReapiTier(const proto::Reapi& config);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_TIER_H_
