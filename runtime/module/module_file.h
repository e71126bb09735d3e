// The file of a module: mapped, and checked without running anything in it.
#ifndef KILN_RUNTIME_MODULE_MODULE_FILE_H_
#define KILN_RUNTIME_MODULE_MODULE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/module/format.h"
#include "runtime/module/tables.h"
#include "runtime/result.h"

namespace kiln {

// The trailer at the end of `file`, after a check of sizes and checksum. DataLoss for a file that
// is no module, is cut off, or differs from what was written.
Result<module::Trailer> CheckModuleFile(const uint8_t* file, uint64_t bytes);

// What CheckModuleFile compares: of the object and the fields of the trailer before the checksum.
void ChecksumModule(const uint8_t* object, module::Trailer* trailer);

// Immutable.
class ModuleFile {
 public:
  // Errors name the path. NotFound-like failures of the system are Unavailable.
  static Result<std::shared_ptr<const ModuleFile>> Open(const std::string& path);
  // In memory that has to exist as long as the object.
  static Result<std::shared_ptr<const ModuleFile>> View(const uint8_t* file, uint64_t bytes);
  ~ModuleFile();
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  const ModuleTables& tables() const { return tables_; }
  // Of the open file; -1 for memory. What is loaded through it is what was checked.
  int descriptor() const { return fd_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t object_bytes() const { return trailer_.object_bytes; }

 private:
  ModuleFile() = default;
  Result<> Read(const uint8_t* file, uint64_t bytes);

  int fd_ = -1;              // owned
  void* mapping_ = nullptr;  // owned; null if the memory is the caller's
  uint64_t bytes_ = 0;
  module::Trailer trailer_{};
  ModuleTables tables_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_MODULE_MODULE_FILE_H_
