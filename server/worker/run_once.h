// Runs one job from a file into a file: the form of a worker without a frame channel, as an action
// of a build cluster.
#ifndef KILN_SERVER_WORKER_RUN_ONCE_H_
#define KILN_SERVER_WORKER_RUN_ONCE_H_

#include <string>

#include "absl/status/status.h"
#include "server/worker/serve.h"

namespace kiln {

// Reads a CompileRequest from the file `request_path` and writes the CompileReply to `reply_path`.
// The reply contains the user's mistakes. Opens both files before `options.warm_up`, which may give
// up the right to open any. After a failure a remaining file is not a reply.
absl::Status RunOnce(const WorkerOptions& options, const std::string& request_path,
                     const std::string& reply_path);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_RUN_ONCE_H_
