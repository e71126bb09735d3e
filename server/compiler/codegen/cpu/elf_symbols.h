// The symbols of a relocatable object.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_ELF_SYMBOLS_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_ELF_SYMBOLS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Object/ELF.h"

namespace kiln::cpu {

using ElfFile = llvm::object::ELF64LEFile;

// LLVM's errors about files are ours: files come from this compiler.
absl::Status FromLlvm(llvm::Error error);

// By name.
struct ElfSymbols {
  std::vector<std::string> undefined;
  std::vector<std::string> defined;  // that other objects see when they are linked with it
};
absl::StatusOr<ElfSymbols> SymbolsOf(llvm::StringRef object);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_ELF_SYMBOLS_H_
