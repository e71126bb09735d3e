// The identity of the compiler: SHA-256 over the GNU build ids of every code object that can change
// generated code (worker, LLVM, MLIR, LLD). It is part of every key, so after a distribution's
// upgrade of LLVM every key misses. The id for CUDA covers nvJitLink and libdevice of NVIDIA's
// toolkit as well, or that there is none.
//
// The worker computes it from its own mapped objects (worker/). This file is its record in the
// home, valid as long as the files named in it keep size and mtime. A client needs a few stat calls
// and no process to know its keys.
#ifndef KILN_COMMON_ARTIFACT_COMPILER_ID_H_
#define KILN_COMMON_ARTIFACT_COMPILER_ID_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/artifact/compiler_ids.h"

namespace kiln {

struct CompilerIdRecord {
  CompilerIds ids;
  std::vector<std::string> files;   // absolute paths, the worker's first
  std::vector<std::string> absent;  // paths at which files of the toolkit would change the id
  std::string toolkit;              // the folder of these and of the toolkit's files (CudaToolkit)
};

// NotFound if there is no record or it is outdated (a file changed, or it is another worker's).
// With `toolkit`, also if it is of another one: processes whose own workers compile ask for theirs,
// and clients of a daemon take the daemon's.
absl::StatusOr<CompilerIds> ReadCompilerId(const std::string& record_path,
                                           const std::string& worker_path,
                                           absl::string_view toolkit = "");
// Writes aside and renames.
absl::Status WriteCompilerId(const std::string& record_path, const CompilerIdRecord& record);
// Runs `worker --print-compiler-id`, which prints a line of both ids in hex and the toolkit's
// folder, then one file a line, absent ones behind "- ".
absl::StatusOr<CompilerIdRecord> AskCompilerId(const std::string& worker_path);
// Reads the record if it is of CudaToolkit(), or asks the worker and writes it (a failed write is
// ignored).
absl::StatusOr<CompilerIds> GetCompilerId(const std::string& record_path,
                                          const std::string& worker_path);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_COMPILER_ID_H_
