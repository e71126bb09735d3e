// LLD in process.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_RUN_LLD_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_RUN_LLD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::cpu {

// Runs LLD for ELF with `arguments`, which name no output, and returns the output's bytes.
// Internal, with LLD's messages. One call at a time: LLD's state and the standard output are the
// process's.
absl::StatusOr<std::string> RunLld(const std::vector<std::string>& arguments);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_RUN_LLD_H_
