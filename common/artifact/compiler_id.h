// The identity of the compiler: SHA-256 over the GNU build ids of every code object that can change
// generated code (worker, LLVM, MLIR, LLD). It is part of every key, so after a distribution's
// upgrade of LLVM every key misses.
//
// The worker computes it from its own mapped objects (worker/). This file is its record in the
// home, valid as long as the files named in it keep size and mtime. A client needs a few stat calls
// and no process to know its keys.
#ifndef KILN_COMMON_ARTIFACT_COMPILER_ID_H_
#define KILN_COMMON_ARTIFACT_COMPILER_ID_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/digest.h"

namespace kiln {

struct CompilerIdRecord {
  Digest id;
  std::vector<std::string> files;  // absolute paths, the worker's first
};

// NotFound if there is no record or it is outdated (a file changed, or it is another worker's).
absl::StatusOr<Digest> ReadCompilerId(const std::string& record_path,
                                      const std::string& worker_path);
// Writes aside and renames.
absl::Status WriteCompilerId(const std::string& record_path, const CompilerIdRecord& record);
// Runs `worker --print-compiler-id` (which prints the id in hex, then one file per line).
absl::StatusOr<CompilerIdRecord> AskCompilerId(const std::string& worker_path);
// Reads the record, or asks the worker and writes it (a failed write is ignored).
absl::StatusOr<Digest> GetCompilerId(const std::string& record_path,
                                     const std::string& worker_path);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_COMPILER_ID_H_
