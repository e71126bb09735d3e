// LLVM set up for one target: optimisation and object code. LLVM headers stay in
// optimize.cc as far as they are heavy.
#ifndef KILN_SERVER_COMPILER_CODEGEN_OPTIMIZE_H_
#define KILN_SERVER_COMPILER_CODEGEN_OPTIMIZE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/artifact/target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DataLayout.h"

namespace llvm {
class Module;
}

namespace kiln {

struct OptimizeOptions {
  int level = 3;          // 0..3
  bool fast_math = true;  // vector math functions of up to 4 ulp
};

// Code generation for one target with one set of options; made once, used often.
class TargetCode {
 public:
  // Unimplemented: this compiler makes no code for `target`.
  static absl::StatusOr<std::unique_ptr<TargetCode>> Make(Target target,
                                                          const OptimizeOptions& options);
  ~TargetCode();

  static const char* triple();
  const llvm::DataLayout& data_layout() const;

  // Defines what `module` calls of the device library, gives every function the
  // target's attributes and keeps only `exported` names visible.
  absl::Status LinkDeviceLibrary(llvm::Module& module, llvm::ArrayRef<std::string> exported);
  void Optimize(llvm::Module& module);
  absl::StatusOr<llvm::SmallVector<char, 0>> EmitObject(llvm::Module& module);
  // The same as text; `module` stays as it is.
  absl::StatusOr<std::string> EmitAssembly(const llvm::Module& module);

 private:
  TargetCode();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_OPTIMIZE_H_
