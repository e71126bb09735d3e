// A worker's life on its pipe: frames in, one job at a time, frames out.
//
//   Hello    → HelloReply: after the warm-up, so it says that the worker is ready
//   Compile  → CompileReply: entry and digest, or the user's diagnostics
//   others   → Error
// The end of the stream, or bytes that are no frame, end the worker.
#ifndef KILN_SERVER_WORKER_SERVE_H_
#define KILN_SERVER_WORKER_SERVE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lang/digest.h"
#include "proto/artifact.pb.h"
#include "proto/diagnostic.pb.h"
#include "proto/service.pb.h"
#include "proto/unit.pb.h"
#include "server/worker/sandbox.h"

namespace kiln {

// What the compiler gives back (server/compiler/compiler.h has the same fields;
// this room's own struct keeps MLIR out of it and of its tests).
struct Product {
  std::string payload;
  proto::ArtifactInfo info;
  std::vector<proto::Diagnostic> diagnostics;
  std::vector<proto::StageReport> stages;
};

// `request` is what came in, for the name; `unit` is its parsed unit.
using CompileFunction = std::function<absl::StatusOr<Product>(const proto::CompileRequest& request,
                                                              const proto::CompileUnit& unit)>;

struct WorkerOptions {
  int in = 0;
  int out = 1;
  Digest compiler_id;
  std::function<absl::Status()> warm_up;  // before the answer to Hello or the first job
  std::vector<Gap> gaps;                  // of the confinement; warm_up fills them in
  CompileFunction compile;
};

// OK at a clean end of the stream.
absl::Status Serve(const WorkerOptions& options);

// One job, without the pipe.
absl::StatusOr<proto::CompileReply> RunJob(const WorkerOptions& options,
                                           const proto::CompileRequest& request);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_SERVE_H_
