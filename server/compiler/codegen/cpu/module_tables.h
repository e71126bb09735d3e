// The tables of a module as an object file.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_MODULE_TABLES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_MODULE_TABLES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "kiln/proto/service.pb.h"
#include "llvm/ADT/SmallVector.h"

namespace kiln::cpu {

// The size of the word that a fixup fills in.
inline constexpr size_t kFixupBytes = 4;

// Defines `request.symbol`, hidden in a module that is an object, as the first byte of a read-only
// section .kiln.meta with the request's tables. The words of its fixups hold distances, so the
// linked section needs no relocation at load. Requires: the fixups are within the tables and do not
// overlap.
absl::StatusOr<llvm::SmallVector<char, 0>> TablesObject(const proto::LinkRequest& request);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_MODULE_TABLES_H_
