#include "common/home/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kiln {

absl::StatusOr<Descriptor> OpenRegularFile(const std::string& path, int flags) {
  Descriptor fd(open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC, 0600));
  // ENXIO: a FIFO without a reader, or a socket.
  const int error = fd.get() < 0 ? errno : 0;
  struct stat info = {};
  if (error != 0 && error != ENXIO) return absl::ErrnoToStatus(error, path);
  if (error == 0 && fstat(fd.get(), &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  }
  return fd;
}

int NumberInFile(const std::string& path) {
  const absl::StatusOr<Descriptor> fd = OpenRegularFile(path, O_RDONLY);
  char text[16] = "";
  if (!fd.ok() || read(fd->get(), text, sizeof text - 1) <= 0) return 0;
  return std::atoi(text);
}

}  // namespace kiln
