// The compiler: a checked unit in, machine code out. One call is one compilation or link;
// nothing is cached, nothing outside the unit is read.
#ifndef KILN_SERVER_COMPILER_COMPILER_H_
#define KILN_SERVER_COMPILER_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/options.pb.h"
#include "kiln/proto/service.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

struct Compilation {
  std::string payload;       // the .so, or the object; empty when there are errors
  proto::ArtifactInfo info;  // compile_seconds and compiler left to the caller
  std::vector<proto::Diagnostic> diagnostics;
  std::vector<proto::StageReport> stages;
};

// Owns the MLIR context and what is set up once a process. Not thread-safe: one
// compiler a thread.
class Compiler {
 public:
  Compiler();
  ~Compiler();

  // The user's mistakes are diagnostics in an OK result; a status is a failure of
  // ours or a message that no front end makes.
  absl::StatusOr<Compilation> Compile(const proto::CompileUnit& unit,
                                      const proto::ReportOptions& report = {});

  // Links kernels into a module. InvalidArgument names what is wrong with the request.
  absl::StatusOr<proto::LinkReply> Link(const proto::LinkRequest& request);

  // Compiles a small kernel, so that the first real one finds LLVM set up.
  absl::Status WarmUp();
  // What this process has of NVIDIA's toolkit for code for CUDA, for people. Reads it if nothing
  // has.
  static std::string CudaToolchain();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_COMPILER_H_
