#include "common/base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/base/file_limit.h"

namespace kiln {
namespace {

// 0, or an errno.
int Write(const std::string& path, absl::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  int error = 0;
  while (error == 0 && !bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  // Network file systems report a full disk only here.
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

// Of folders that take no new file, and of files that are mounted by themselves.
bool IsInPlaceOnly(int error) {
  return error == EACCES || error == EPERM || error == EBUSY || error == EROFS;
}

int Replace(const std::string& path, const struct stat* previous, absl::string_view bytes) {
  const std::string aside = absl::StrCat(path, ".", getpid(), ".tmp");
  int error = Write(aside, bytes);
  if (error == 0 && previous != nullptr && chmod(aside.c_str(), previous->st_mode & 07777) != 0) {
    error = errno;
  }
  if (error == 0 && rename(aside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return 0;
  unlink(aside.c_str());
  return previous != nullptr && IsInPlaceOnly(error) ? Write(path, bytes) : error;
}

}  // namespace

absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes) {
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  int error = 0;
  if (exists && !S_ISREG(info.st_mode)) {
    error = Write(path, bytes);
  } else {
    char resolved[PATH_MAX];
    const bool is_known = realpath(path.c_str(), resolved) != nullptr;
    error = Replace(is_known ? resolved : path, exists ? &info : nullptr, bytes);
  }
  return error == 0 ? absl::OkStatus() : WriteError(error, path);
}

}  // namespace kiln
