// Linking object files, by LLD in process. Deterministic; the outputs hold no paths.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kiln::cpu {

// The bytes of one relocatable object or more.
using Objects = llvm::ArrayRef<llvm::StringRef>;

// A shared object. Links against the C library's parts that the objects refer to, so that their
// references carry versions. `exported`: the only symbol that it exports; "": what the objects
// export.
absl::StatusOr<std::string> LinkSharedObject(Objects objects, const std::string& exported = "");

// One relocatable object with the symbols of all.
absl::StatusOr<std::string> LinkObject(Objects objects);

// The libraries that a shared object asks for, each with its highest version.
absl::StatusOr<std::map<std::string, std::string>> NeededVersions(const std::string& payload);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_H_
