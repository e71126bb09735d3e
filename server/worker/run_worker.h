// The command line of every worker binary.
//
//   kiln-worker [--fd=N] [--memory-bytes=N] [--cpu-seconds=N] [--unconfined]
//       serves frames on descriptor N, or on stdin and stdout; once warm, and before
//       the first job, it sandboxes itself (sandbox.h) unless --unconfined
//   kiln-worker --unit=FILE --out=FILE [limits as above]
//       does one job (run_once.h); the exit status is 0 if the reply was written
//   kiln-worker --print-gaps
//       sandboxes itself, and prints the restrictions that failed, "NAME\tTEXT" a line
//   kiln-worker --print-cuda
//       prints what it has of NVIDIA's toolkit
//   kiln-worker --print-compiler-id
//       prints the id in hex, then the files that it covers, one absolute path a
//       line, the worker's own first
#ifndef KILN_SERVER_WORKER_RUN_WORKER_H_
#define KILN_SERVER_WORKER_RUN_WORKER_H_

#include <functional>

#include "absl/status/status.h"
#include "server/worker/serve.h"

namespace kiln {

struct Engine {
  std::function<absl::Status()> warm_up;
  CompileFunction compile;
  LinkFunction link;
  std::function<std::string()> cuda_toolchain;  // may be called before warm_up
};

// Calls `make` only if it will serve jobs. Returns the exit status.
int RunWorker(int argc, char** argv, const std::function<Engine()>& make);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_RUN_WORKER_H_
