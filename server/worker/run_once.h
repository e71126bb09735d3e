// One job from a file into a file: how a worker runs where nobody speaks frames to it, as
// an action of a build cluster.
#ifndef KILN_SERVER_WORKER_RUN_ONCE_H_
#define KILN_SERVER_WORKER_RUN_ONCE_H_

#include <string>

#include "absl/status/status.h"
#include "server/worker/serve.h"

namespace kiln {

// Reads a CompileRequest from the file `request_path` and writes the CompileReply to
// `reply_path`. The user's mistakes are in the reply. Both files are opened before
// `options.warm_up`, which may give up the right to open any. A file that is left after a
// failure is no reply.
absl::Status RunOnce(const WorkerOptions& options, const std::string& request_path,
                     const std::string& reply_path);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_RUN_ONCE_H_
