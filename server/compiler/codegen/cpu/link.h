// LLD in process: an object file to a shared object.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "llvm/ADT/ArrayRef.h"

namespace kiln::cpu {

// Links against the C library's parts that the object refers to, so that its
// references carry versions. Deterministic; holds no paths.
absl::StatusOr<std::string> LinkSharedObject(llvm::ArrayRef<char> object);

// The libraries that a shared object asks for, each with its highest version.
absl::StatusOr<std::map<std::string, std::string>> NeededVersions(const std::string& payload);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_LINK_H_
