// From a kernel at the offloaded level (dialect/ops.td) to machine code in memory: LLVM IR, the
// device library, optimisation, object code, linking. target.h has what differs between targets.
// Nothing of the machine that compiles enters the code.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CODEGEN_H_
#define KILN_SERVER_COMPILER_CODEGEN_CODEGEN_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/options.pb.h"
#include "kiln/proto/service.pb.h"
#include "kiln/proto/target.pb.h"

namespace mlir {
class Operation;
}

namespace kiln {

struct GeneratedCode {
  std::string payload;
  std::vector<proto::Task> tasks;
  bool has_effects = false;                  // prints
  bool can_fail = false;                     // asserts
  bool draws = false;                        // random numbers
  bool tapes = false;                        // threads have tapes, on CUDA
  int64_t temporary_bytes = 0;               // of a launch
  std::map<std::string, std::string> needs;  // ArtifactInfo.needs
};

// Owns the targets, each set up once. Not thread-safe, and a process generates one kernel at a
// time: LLVM's flags and LLD's state are the process's.
class CodeGenerator {
 public:
  CodeGenerator();
  ~CodeGenerator();

  // `kernel` is a kiln.kernel of tasks. Appends to `stages` the seconds (and, when
  // asked, the IR) of: emit, optimize, codegen, link. Unimplemented: this compiler
  // makes no code for the target. With options.relocatable, the payload is an object, and the
  // names of its symbols begin with `prefix`. For CUDA, `kernel` has the attribute `slots`
  // (emit_kernel.h).
  absl::StatusOr<GeneratedCode> Generate(mlir::Operation* kernel, const proto::Target& target,
                                         const proto::CodeOptions& options,
                                         const proto::ReportOptions& report,
                                         std::vector<proto::StageReport>* stages,
                                         const std::string& prefix = "");

  // The LLVM IR before optimisation, for tests.
  absl::StatusOr<std::string> EmitText(mlir::Operation* kernel, const proto::Target& target,
                                       const proto::CodeOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_CODEGEN_H_
