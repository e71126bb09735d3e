// From a kernel at the offloaded level (dialect/ops.td) to a shared object in
// memory: LLVM IR, the device library, optimisation for a named CPU level, object
// code, LLD. Nothing of the machine that compiles enters the code.
//
// Every task becomes an exported function (runtime/abi.h), and one for its bounds
// where these are not constant. Linear iteration spaces start at 0 and leave out short
// constant dimensions: lower bounds and inner loops are in the code itself.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CODEGEN_H_
#define KILN_SERVER_COMPILER_CODEGEN_CODEGEN_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/artifact.pb.h"
#include "proto/options.pb.h"
#include "proto/service.pb.h"
#include "proto/target.pb.h"

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
  std::map<std::string, std::string> needs;  // ArtifactInfo.needs
};

// Owns what LLVM needs once a process. Not thread-safe; LLD allows one link at a
// time in a process.
class CodeGenerator {
 public:
  CodeGenerator();
  ~CodeGenerator();

  // `kernel` is a kiln.kernel of tasks. Appends to `stages` the seconds (and, when
  // asked, the IR) of: emit, optimize, codegen, link. Unimplemented: the target is no
  // CPU level that this generator knows.
  absl::StatusOr<GeneratedCode> Generate(mlir::Operation* kernel, const proto::Target& target,
                                         const proto::CodeOptions& options,
                                         const proto::ReportOptions& report,
                                         std::vector<proto::StageReport>* stages);

  // The LLVM IR before optimisation, for tests.
  absl::StatusOr<std::string> EmitText(mlir::Operation* kernel, const proto::Target& target,
                                       const proto::CodeOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_CODEGEN_H_
