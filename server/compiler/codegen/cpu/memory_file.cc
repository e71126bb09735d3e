#include "server/compiler/codegen/cpu/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/base/file_limit.h"

namespace kiln::cpu {

MemoryFile::MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

std::string MemoryFile::path() const { return absl::StrCat("/proc/self/fd/", fd_); }

absl::Status MemoryFile::Write(llvm::StringRef bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0) return WriteError(errno, "a memory file of the compiler");
    done += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryFile::Read() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return absl::ErrnoToStatus(errno, "a memory file");
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n <= 0) return absl::ErrnoToStatus(errno, "reading a memory file");
    done += n;
  }
  return bytes;
}

}  // namespace kiln::cpu
