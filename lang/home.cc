#include "lang/home.h"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

absl::StatusOr<std::string> UserDirectory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  passwd entry;
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr && *found->pw_dir != '\0') {
    return found->pw_dir;
  }
  return absl::FailedPreconditionError(
      "no home directory: set KILN_HOME to a directory that Kiln may use");
}

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot make directory ", path));
}

// mkdir -p; parents that exist are left as they are.
absl::Status MakeDirectories(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string parent = path.substr(0, at);
    struct stat info;
    if (stat(parent.c_str(), &info) != 0) RETURN_IF_ERROR(MakeDirectory(parent));
  }
  RETURN_IF_ERROR(MakeDirectory(path));
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " is not a directory"));
}

std::string SocketDirectory() { return absl::StrCat("/tmp/kiln-", getuid()); }

}  // namespace

absl::StatusOr<Home> Home::Find(const std::string& dir) {
  std::string path = dir;
  if (path.empty()) {
    if (const char* home = std::getenv("KILN_HOME"); home != nullptr) path = home;
  }
  if (path.empty()) {
    ASSIGN_OR_RETURN(path, UserDirectory());
    path += "/.cache/kiln";
  }
  // Links are resolved as far as the path exists: two names of one directory
  // must give one socket.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("KILN_HOME ", path, ": ", error.message()));
  }
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
  std::string text = error ? absolute.lexically_normal().string() : canonical.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return Home(std::move(text));
}

std::string Home::EntryPath(const Digest& key) const {
  const std::string hex = key.Hex();
  return absl::StrCat(dir_, "/cache/", hex.substr(0, 2), "/", hex, ".so");
}

std::string Home::PathBesideSocket(const char* suffix) const {
  return absl::StrCat(SocketDirectory(), "/", Sha256Of(dir_).Hex().substr(0, 16), suffix);
}

absl::StatusOr<std::string> Home::SocketPath() const {
  const std::string dir = SocketDirectory();
  RETURN_IF_ERROR(MakeDirectory(dir));
  // Anyone may have made this name before us; who can write there can pose as
  // the daemon.
  struct stat info;
  if (lstat(dir.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, dir);
  if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(dir, " must be a directory of yours with mode 0700; remove it"));
  }
  return PathBesideSocket(".sock");
}

absl::Status Home::Create() const {
  RETURN_IF_ERROR(MakeDirectories(dir_));
  RETURN_IF_ERROR(MakeDirectory(CacheDir()));
  return MakeDirectory(TempDir());
}

}  // namespace kiln
