// LLVM's command-line flags that no interface of its own sets. They belong to the process, and LLD
// resets them: so each module sets all of them.
#ifndef KILN_SERVER_COMPILER_CODEGEN_LLVM_FLAGS_H_
#define KILN_SERVER_COMPILER_CODEGEN_LLVM_FLAGS_H_

namespace kiln::codegen {

// Those that the code generator reads.
struct LlvmFlags {
  bool skip_loop_strength_reduction = false;
  bool skip_machine_licm = false;
  bool skip_codegen_prepare = false;
};

// Not thread-safe, as LLVM's flags are not.
void SetLlvmFlags(const LlvmFlags& flags);

// The one that the optimiser reads: whether a loop of shorter vectors, and not one of single
// elements, runs what a vector loop of eight elements leaves over. It takes a fifth longer to
// compile.
void SetShortVectors(bool wanted);

}  // namespace kiln::codegen

#endif  // KILN_SERVER_COMPILER_CODEGEN_LLVM_FLAGS_H_
