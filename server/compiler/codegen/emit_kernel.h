// The emitter: a kernel of tasks as an LLVM module.
//
// A range task takes a part [begin, end) of its linear iteration space and walks it
// by rows: the innermost dimension is a plain counted loop, which LLVM vectorises (a
// short one of constant extent is part of the iteration); the outer indices are carried
// from row to row without divisions. Distinct storages are told apart by alias scopes,
// so that no loop needs checks at run time.
#ifndef KILN_SERVER_COMPILER_CODEGEN_EMIT_KERNEL_H_
#define KILN_SERVER_COMPILER_CODEGEN_EMIT_KERNEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "proto/artifact.pb.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

struct EmittedKernel {
  std::unique_ptr<llvm::Module> module;  // device library calls unresolved
  std::vector<proto::Task> tasks;
  bool has_effects = false;
  bool can_fail = false;
  bool draws = false;
};

// Unimplemented: an op that has no emission,
// by name.
absl::StatusOr<EmittedKernel> EmitKernel(ir::KernelOp kernel, const llvm::DataLayout& layout,
                                         llvm::StringRef triple, llvm::LLVMContext& context);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_EMIT_KERNEL_H_
