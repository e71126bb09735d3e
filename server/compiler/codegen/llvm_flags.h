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

// Those that the optimiser reads, some by way of the target's description. A vector loop of eight
// elements leaves some over: with `short_vectors`, a loop of shorter vectors runs those, otherwise
// one of single elements. It takes a fifth longer to compile.
void SetOptimizerFlags(bool short_vectors);

// Another flag of the optimiser: whether the vectoriser stores a part of each cell by a mask,
// rather than element by element. Its passes run for one function after the other.
void SetMaskedStores(bool wanted);

}  // namespace kiln::codegen

#endif  // KILN_SERVER_COMPILER_CODEGEN_LLVM_FLAGS_H_
