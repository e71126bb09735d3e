// The emitter: a kernel of tasks as an LLVM module. The target decides how threads share the
// iterations of a task. Alias scopes tell distinct storages apart, so that no loop needs checks at
// run time.
#ifndef KILN_SERVER_COMPILER_CODEGEN_EMIT_KERNEL_H_
#define KILN_SERVER_COMPILER_CODEGEN_EMIT_KERNEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kiln/proto/artifact.pb.h"
#include "llvm/IR/Module.h"
#include "server/compiler/codegen/target.h"

namespace mlir {
class Operation;
}

namespace kiln {

// A kernel's attribute with the number of its argument slots, an i64, for targets that pass them by
// value. Absent: 0.
inline constexpr char kSlotsAttribute[] = "slots";
// Present: sums of floats are deterministic (options.proto).
inline constexpr char kDeterministicAttribute[] = "deterministic";

struct EmittedKernel {
  std::unique_ptr<llvm::Module> module;  // device library calls unresolved
  std::vector<proto::Task> tasks;
  bool has_effects = false;
  bool can_fail = false;
  bool draws = false;
  bool tapes = false;
  int64_t temporary_bytes = 0;  // of a launch
};

// `kernel` is a kiln.kernel of tasks. Unimplemented names an op that has no emission.
absl::StatusOr<EmittedKernel> EmitKernel(mlir::Operation* kernel, const codegen::Target& target,
                                         llvm::LLVMContext& context);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_EMIT_KERNEL_H_
