// Compilations on a Remote Execution API cluster: each is an action that runs kiln-worker
// (toolchain.h) on a file with the request, and outputs a file with the reply.
#ifndef KILN_SERVER_REMOTE_REAPI_EXECUTION_H_
#define KILN_SERVER_REMOTE_REAPI_EXECUTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Does not contact the server yet. `worker` is the path of the kiln-worker to send. The delegate
// uses the cluster's action cache for earlier actions, resumes an operation's stream that breaks,
// and cancels the operation at the deadline. A reply with another key than requested is a failure:
// the cluster runs another compiler. The caller checks the rest of the reply.
absl::StatusOr<std::unique_ptr<Delegate>> MakeExecution(const proto::Execution& config,
                                                        const std::string& worker);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_EXECUTION_H_
