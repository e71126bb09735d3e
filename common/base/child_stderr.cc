#include "common/base/child_stderr.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "common/base/plain_text.h"

namespace kiln {
namespace {

constexpr size_t kBytes = 16 << 10;  // further output is lost

int NewFile() {
  const int fd = memfd_create("said", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0 && ftruncate(fd, kBytes) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0) {
    return fd;
  }
  if (fd >= 0) close(fd);
  return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

}  // namespace

ChildStderr::ChildStderr() : fd_(NewFile()) {}

ChildStderr::~ChildStderr() {
  if (fd_ >= 0) close(fd_);
}

std::string ChildStderr::LastLine() const {
  std::string bytes(kBytes, '\0');
  const ssize_t size = fd_ < 0 ? 0 : pread(fd_, bytes.data(), bytes.size(), 0);
  absl::string_view text(bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
  text = absl::StripTrailingAsciiWhitespace(text.substr(0, text.find('\0')));
  return OneLine(text.substr(text.rfind('\n') + 1));
}

}  // namespace kiln
