// The identity of the compiler: SHA-256 over the GNU build ids of every code
// object that can change code (worker, LLVM, MLIR, LLD). Part of every key: a
// distribution's upgrade of LLVM misses.
//
// The worker computes it from its own mapped objects (worker/); this file is its
// record in the home, valid as long as the files named in it keep size and mtime,
// so that a client needs a few stat calls and no process to know its keys.
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

// NotFound when there is none or it no longer holds (a file changed, another
// worker is asked about).
absl::StatusOr<Digest> ReadCompilerId(const std::string& record_path,
                                      const std::string& worker_path);
// Written aside and renamed.
absl::Status WriteCompilerId(const std::string& record_path, const CompilerIdRecord& record);
// Runs `worker --print-compiler-id` (prints hex id, then one file a line).
absl::StatusOr<CompilerIdRecord> AskCompilerId(const std::string& worker_path);
// Read, or ask and write (a failed write is no error).
absl::StatusOr<Digest> GetCompilerId(const std::string& record_path,
                                     const std::string& worker_path);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_COMPILER_ID_H_
