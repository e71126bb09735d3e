// LLVM set up for one CPU target: optimisation and object code. LLVM's large headers stay in
// machine.cc.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_MACHINE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_MACHINE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DataLayout.h"
#include "server/compiler/codegen/target.h"

namespace llvm {
class Module;
}

namespace kiln::cpu {

// Code generation for one target with one set of options; made once, used often.
class Machine {
 public:
  // Requires: `target` is a CPU that is compiled for (CompiledTargets).
  static absl::StatusOr<std::unique_ptr<Machine>> Make(Target target,
                                                       const codegen::Options& options);
  ~Machine();

  const char* triple() const;
  const llvm::DataLayout& data_layout() const;
  // codegen::Target.
  codegen::Target::Lanes lanes() const;
  std::string VectorFunction(const std::string& name, bool is_f64, int64_t lanes) const;

  // Defines what `module` calls of the device library, gives every function the
  // target's attributes and keeps only `exported` names visible.
  absl::Status LinkDeviceLibrary(llvm::Module& module, llvm::ArrayRef<std::string> exported);
  void Optimize(llvm::Module& module);
  absl::StatusOr<llvm::SmallVector<char, 0>> EmitObject(llvm::Module& module);
  // The same as text; `module` stays as it is.
  absl::StatusOr<std::string> EmitAssembly(const llvm::Module& module);

 private:
  Machine();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_MACHINE_H_
