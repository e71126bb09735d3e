// Serves a worker's pipe: frames in, one job at a time, frames out.
//
//   Hello    → HelloReply: after the warm-up, so it means that the worker is ready
//   Compile  → CompileReply: entry and digest, or the user's diagnostics
//   Link     → LinkReply: a module
//   others   → Error
//
// The worker ends at the end of the stream, or at bytes that are not a frame.
#ifndef KILN_SERVER_WORKER_SERVE_H_
#define KILN_SERVER_WORKER_SERVE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/compiler_ids.h"
#include "common/base/digest.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/service.pb.h"
#include "kiln/proto/unit.pb.h"
#include "server/worker/sandbox.h"

namespace kiln {

// The compiler's result (server/compiler/compiler.h has the same fields; a separate struct keeps
// MLIR out of this room and its tests).
struct Product {
  std::string payload;
  proto::ArtifactInfo info;
  std::vector<proto::Diagnostic> diagnostics;
  std::vector<proto::StageReport> stages;
};

// `request` is the parsed request, for the name; `unit` its parsed unit.
using CompileFunction = std::function<absl::StatusOr<Product>(const proto::CompileRequest& request,
                                                              const proto::CompileUnit& unit)>;

using LinkFunction =
    std::function<absl::StatusOr<proto::LinkReply>(const proto::LinkRequest& request)>;

struct WorkerOptions {
  int in = 0;
  int out = 1;
  CompilerIds compiler;
  std::function<absl::Status()> warm_up;  // called before the answer to Hello or the first job
  std::vector<Gap> gaps;                  // of the sandbox; warm_up fills them in
  std::string cuda_toolchain;             // likewise: what there is of NVIDIA's toolkit
  CompileFunction compile;
  LinkFunction link;
};

// OK at a clean end of the stream.
absl::Status Serve(const WorkerOptions& options);

// One compilation, without the pipe.
absl::StatusOr<proto::CompileReply> RunJob(const WorkerOptions& options,
                                           const proto::CompileRequest& request);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_SERVE_H_
