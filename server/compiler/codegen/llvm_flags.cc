#include "server/compiler/codegen/llvm_flags.h"

#include "llvm/Support/CommandLine.h"

namespace kiln::codegen {
namespace {

template <typename T>
void SetFlag(const char* name, T value) {
  const auto found = llvm::cl::getRegisteredOptions().find(name);
  // Another LLVM may not have the flag: code is then correct, only slower to make.
  if (found == llvm::cl::getRegisteredOptions().end()) return;
  *static_cast<llvm::cl::opt<T>*>(found->second) = value;
}

}  // namespace

void SetLlvmFlags(const LlvmFlags& flags) {
  // Moving integers to mask registers and back gains nothing here and is quadratic.
  SetFlag("disable-x86-domain-reassignment", true);
  SetFlag("disable-lsr", flags.skip_loop_strength_reduction);
  SetFlag("disable-machine-licm", flags.skip_machine_licm);
  SetFlag("disable-cgp", flags.skip_codegen_prepare);
}

void SetOptimizerFlags(bool short_vectors) {
  constexpr unsigned kWanted = 8, kLlvms = 16;
  SetFlag("epilogue-vectorization-minimum-VF", short_vectors ? kWanted : kLlvms);
  // LLVM would make a branch of each part of a condition. In kernels data decides most of them, and
  // the processor guesses each wrong: a probe of a hash table took twice as long.
  SetFlag("jump-is-expensive", true);
}

void SetMaskedStores(bool wanted) {
  constexpr char kFlag[] = "enable-masked-interleaved-mem-accesses";
  const auto found = llvm::cl::getRegisteredOptions().find(kFlag);
  if (found == llvm::cl::getRegisteredOptions().end()) return;
  // The vectoriser asks whether the flag was given, and only then for its value.
  found->second->reset();
  if (wanted) found->second->addOccurrence(/*pos=*/0, kFlag, "true");
}

}  // namespace kiln::codegen
