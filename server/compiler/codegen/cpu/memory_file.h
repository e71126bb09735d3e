// An anonymous file in memory, which LLD opens by path.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_MEMORY_FILE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_MEMORY_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

namespace kiln::cpu {

// Exists as long as this object. If the system refuses the file, Write and Read fail.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  // Leads through /proc, which needs no rights to any directory.
  std::string path() const;

  // Appends `bytes`.
  absl::Status Write(llvm::StringRef bytes);
  absl::StatusOr<std::string> Read() const;

 private:
  int fd_;
};

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_MEMORY_FILE_H_
