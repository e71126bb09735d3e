// LLVM set up for one CUDA architecture: optimisation and PTX. LLVM's large headers stay in
// ptx_machine.cc.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_PTX_MACHINE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_PTX_MACHINE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/DataLayout.h"
#include "server/compiler/codegen/target.h"

namespace llvm {
class Module;
}

namespace kiln::cuda {

// Code generation for one architecture with one set of options; made once, used often.
class PtxMachine {
 public:
  // Requires: `target` is a CUDA target that is compiled for (CompiledTargets).
  static absl::StatusOr<std::unique_ptr<PtxMachine>> Make(Target target,
                                                          const codegen::Options& options);
  ~PtxMachine();

  const char* triple() const;
  const llvm::DataLayout& data_layout() const;

  // Defines what `module` calls of the device library and of libdevice (libdevice.h), and keeps
  // only `exported` names visible. Unimplemented: it calls libdevice, and there is none.
  absl::Status LinkLibraries(llvm::Module& module, llvm::ArrayRef<std::string> exported);
  void Optimize(llvm::Module& module);
  // May change `module`.
  absl::StatusOr<std::string> EmitPtx(llvm::Module& module);

 private:
  PtxMachine();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::cuda

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_PTX_MACHINE_H_
