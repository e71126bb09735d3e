#include "server/remote/watched_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

constexpr off_t kMaxBytes = 1 << 20;

bool Same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

absl::Status Failure(const std::string& path, const char* what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be ", what));
}

}  // namespace

absl::StatusOr<std::string> WatchedFile::Read() {
  if (path_.empty()) return std::string();
  struct stat now;
  if (stat(path_.c_str(), &now) != 0) return Failure(path_, "found");
  absl::MutexLock lock(&mutex_);
  if (seen_.st_ino != 0 && Same(now, seen_)) return content_;

  // NONBLOCK, because a FIFO would wait for a writer.
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failure(path_, "opened");
  // Stat the open file: the path may have been replaced meanwhile.
  const bool known = fstat(fd, &now) == 0;
  if (!known || !S_ISREG(now.st_mode) || now.st_size > kMaxBytes) {
    close(fd);
    const bool is_file = known && S_ISREG(now.st_mode);
    return absl::InvalidArgumentError(
        absl::StrCat(path_, is_file ? ": more than 1 MiB" : ": is not a regular file"));
  }
  std::string content(static_cast<size_t>(now.st_size), '\0');
  size_t got = 0;
  while (got < content.size()) {
    const ssize_t n = read(fd, &content[got], content.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  close(fd);
  if (got != content.size()) {
    return absl::UnavailableError(absl::StrCat(path_, ": became shorter while it was read"));
  }
  content_ = std::move(content);
  seen_ = now;
  return content_;
}

absl::StatusOr<std::string> WatchedFile::ReadSecret() {
  absl::StatusOr<std::string> content = Read();
  if (!content.ok()) return content;
  std::string secret(absl::StripAsciiWhitespace(*content));
  if (secret.empty()) return absl::InvalidArgumentError(absl::StrCat(path_, ": is empty"));
  for (const char c : secret) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": expected one secret of printable characters"));
    }
  }
  return secret;
}

}  // namespace kiln
