#include "server/web_front/address_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

constexpr size_t kSecretBytes = 16;
constexpr size_t kMostBytes = 512;  // of the file

absl::Status Failure(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

// The secret in a file that only this user can have read or written; "" if there is none.
std::string SecretIn(const std::string& path) {
  // A link or FIFO in place of the file may be another user's.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return "";
  struct stat info;
  char bytes[kMostBytes];
  ssize_t size = -1;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
      (info.st_mode & 077) == 0) {
    size = read(fd, bytes, sizeof bytes);
  }
  close(fd);
  if (size <= 0) return "";
  const absl::string_view text(bytes, static_cast<size_t>(size));
  const std::string secret(absl::StripAsciiWhitespace(text.substr(text.rfind('#') + 1)));
  const bool good = secret.size() == 2 * kSecretBytes &&
                    absl::c_all_of(secret, [](char c) { return absl::ascii_isxdigit(c); });
  return good ? secret : "";
}

absl::StatusOr<std::string> NewSecret() {
  std::string bytes(kSecretBytes, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Failure("getrandom");
  }
  return absl::BytesToHexString(bytes);
}

absl::Status Replace(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());  // left by a process that died while writing
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Failure(fresh);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (!written || rename(fresh.c_str(), path.c_str()) != 0) return Failure(path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WriteAddress(const std::string& path, const std::string& origin) {
  // The old secret is kept, so that an open page still works after a restart.
  std::string secret = SecretIn(path);
  if (secret.empty()) {
    absl::StatusOr<std::string> made = NewSecret();
    if (!made.ok()) return made.status();
    secret = *std::move(made);
  }
  absl::Status written = Replace(path, absl::StrCat(origin, "/#", secret, "\n"));
  if (!written.ok()) return written;
  return secret;
}

bool SameSecret(absl::string_view shown, absl::string_view secret) {
  if (secret.empty() || shown.size() != secret.size()) return false;
  // In constant time: a comparison that stops early tells how many characters fit.
  unsigned differing = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    differing |= static_cast<unsigned char>(shown[i] ^ secret[i]);
  }
  return differing == 0;
}

}  // namespace kiln
