// Compilations on a Remote Execution API cluster: each is an action that runs kiln-worker
// (toolchain.h) on a file with the request, and leaves a file with the reply.
#ifndef KILN_SERVER_REMOTE_REAPI_EXECUTION_H_
#define KILN_SERVER_REMOTE_REAPI_EXECUTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Asks the server nothing yet. `worker` is the path of the kiln-worker that is sent there.
// Of the delegate: the cluster's action cache answers what it has run before; where the
// stream of an operation breaks, it is taken up again; at the deadline the operation is
// cancelled. The reply's key is the one asked for, else it is a failure: what the cluster
// runs is another compiler. Everything else in it is to be checked by who uses it.
absl::StatusOr<std::unique_ptr<Delegate>> MakeExecution(const proto::Execution& config,
                                                        const std::string& worker);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_EXECUTION_H_
