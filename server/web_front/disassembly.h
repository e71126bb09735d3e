// Machine code as text, by llvm-objdump or objdump if installed.
#ifndef KILN_SERVER_WEB_FRONT_DISASSEMBLY_H_
#define KILN_SERVER_WEB_FRONT_DISASSEMBLY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

// The assembly of the functions in the shared object `elf`, cut after two megabytes.
// NotFound: no disassembler is installed.
absl::StatusOr<std::string> Disassemble(absl::string_view elf);

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_DISASSEMBLY_H_
