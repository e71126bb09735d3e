#include "common/home/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

constexpr size_t kNameBytes = 16384;  // the most bytes of an entry of the user or group database
constexpr int kMaxLinks = 40;         // the kernel's own limit

bool IsOff() {
  // Read once: a program that changes its environment must not change its rights in the middle.
  static FirstUse<bool> off;
  return off.Get([] {
    const char* text = std::getenv("KILN_OWNER_CHECK");
    return text != nullptr && absl::string_view(text) == "off";
  });
}

absl::Status Errno(int error, const std::string& path) {
  // The name exists, but is a link or another kind of file.
  if (error == ELOOP || error == ENOTDIR || error == EISDIR) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, error == EISDIR ? " is a directory" : " is a link or no directory"));
  }
  return absl::ErrnoToStatus(error, path);
}

std::string UserName(uid_t user) {
  std::vector<char> buffer(kNameBytes);
  passwd entry;
  passwd* found = nullptr;
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return "";
  }
  return found->pw_name;
}

// Whether this user is the only member of `group`. Systems that give each user a group use that
// group for the user's files.
bool IsGroupOfOne(gid_t group) {
  // Only the process's own group can be its user's private one.
  if (group != getegid()) return false;
  std::vector<char> buffer(kNameBytes);
  struct group entry;
  struct group* found = nullptr;
  const int failed = getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found);
  // Without an entry, as in containers: groups of one user usually have the user's number.
  if (failed != 0 || found == nullptr) return group == geteuid();
  const std::string user = UserName(geteuid());
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (user != *member) return false;
  }
  return group == geteuid() || user == found->gr_name;
}

// Whether the file has an access control list. If so, other users and groups may be able to write,
// and the mode's group bits show the union of their rights.
bool HasAccessList(int fd, const std::string& path) {
  const char* const name = "system.posix_acl_access";
  return (fd >= 0 ? fgetxattr(fd, name, nullptr, 0) : lgetxattr(path.c_str(), name, nullptr, 0)) >
         0;
}

bool OthersMayWrite(const struct stat& info, int fd, const std::string& path) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  // With an access list, these bits are the most that any entry of it may grant.
  if ((info.st_mode & S_IWGRP) == 0) return false;
  return !IsGroupOfOne(info.st_gid) || HasAccessList(fd, path);
}

bool IsOursOrRoots(uid_t owner) { return owner == 0 || owner == geteuid(); }

// Whether `owner` represents the users that do not exist in this process's user namespace. Their
// files are older than the namespace: in containers, the directories in which volumes are mounted.
bool IsOutsideNamespace(uid_t owner) {
  // Usually 65534: all owners outside of the namespace look like this one.
  std::ifstream overflow("/proc/sys/kernel/overflowuid");
  uint64_t unknown = 0;
  if (!(overflow >> unknown) || owner != unknown) return false;
  std::ifstream map("/proc/self/uid_map");
  for (uint64_t first, outside, count; map >> first >> outside >> count;) {
    // A real user of the namespace has this number.
    if (unknown >= first && unknown - first < count) return false;
  }
  return true;
}

std::string Owned(absl::string_view path, uid_t owner) {
  const std::string name = UserName(owner);
  return absl::StrCat(path, " belongs to user ", owner,
                      name.empty() ? "" : absl::StrCat(" (", name, ")"));
}

std::string Writable(absl::string_view path, mode_t mode) {
  return absl::StrCat("others may write to ", path, " (mode ", (mode >> 9) & 7, (mode >> 6) & 7,
                      (mode >> 3) & 7, mode & 7, ")");
}

// Checks that others cannot rename entries of a directory on the way to `goal`.
absl::Status CheckKeeps(const struct stat& info, const std::string& path, absl::string_view goal) {
  if (!IsOursOrRoots(info.st_uid) && !IsOutsideNamespace(info.st_uid)) {
    return absl::PermissionDeniedError(
        absl::StrCat(Owned(path, info.st_uid), ", who can exchange ", goal));
  }
  // In a sticky directory such as /tmp, only a file's owner may rename it.
  if ((info.st_mode & S_ISVTX) == 0 && OthersMayWrite(info, -1, path)) {
    return absl::PermissionDeniedError(
        absl::StrCat(Writable(path, info.st_mode), " and so exchange ", goal));
  }
  return absl::OkStatus();
}

std::optional<std::string> TargetOf(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  if (size <= 0 || size == sizeof target) return std::nullopt;
  return std::string(target, static_cast<size_t>(size));
}

// The parts of a path, the last one first.
std::vector<std::string> PartsOf(absl::string_view path) {
  std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

absl::Status CheckOwn(const struct stat& info, int fd, absl::string_view path) {
  if (IsOff()) return absl::OkStatus();
  if (!IsOursOrRoots(info.st_uid)) return absl::PermissionDeniedError(Owned(path, info.st_uid));
  if (!OthersMayWrite(info, fd, std::string(path))) return absl::OkStatus();
  return absl::PermissionDeniedError(Writable(path, info.st_mode));
}

absl::Status CheckWay(const std::string& path) {
  if (IsOff()) return absl::OkStatus();
  std::vector<std::string> parts = PartsOf(path);
  std::string at;  // the directory reached so far, without links
  for (int links = 0; !parts.empty();) {
    // One step at a time, as the kernel does it: a link's target takes the place of the link.
    const std::string part = std::move(parts.back());
    parts.pop_back();
    if (part == ".") continue;
    // After links are resolved, ".." is the directory above, as `at` contains none.
    if (part == "..") {
      at.erase(std::min(at.rfind('/'), at.size()));
      continue;
    }
    const std::string next = absl::StrCat(at, "/", part);
    struct stat info;
    if (lstat(next.c_str(), &info) != 0) {
      // What does not exist will be made by us; all directories above it are checked.
      return errno == ENOENT || errno == ENOTDIR ? absl::OkStatus() : Errno(errno, next);
    }
    if (S_ISLNK(info.st_mode)) {
      const std::optional<std::string> target = TargetOf(next);
      if (!target.has_value() || ++links > kMaxLinks) return Errno(ELOOP, next);
      if (!IsOursOrRoots(info.st_uid) && !IsOutsideNamespace(info.st_uid)) {
        return absl::PermissionDeniedError(
            absl::StrCat("the link ", Owned(next, info.st_uid), ", who can exchange ", path));
      }
      // An absolute target starts from the root again; a relative one from the link's directory.
      if (absl::StartsWith(*target, "/")) at.clear();
      for (std::string& step : PartsOf(*target)) parts.push_back(std::move(step));
      continue;
    }
    // The last part is checked by its user (CheckOwn), which is stricter.
    if (!parts.empty()) RETURN_IF_ERROR(CheckKeeps(info, next, path));
    at = next;
  }
  return absl::OkStatus();
}

bool MakeDirectoryAt(int at, const std::string& name) {
  if (mkdirat(at, name.c_str(), 0700) != 0) return false;
  struct stat info;
  if (fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if ((info.st_mode & 0700) == 0700) return true;
  // Without links: another user may have exchanged it, where the directory above is not ours.
  return fchmodat(at, name.c_str(), (info.st_mode & 07777) | 0700, AT_SYMLINK_NOFOLLOW) == 0;
}

absl::StatusOr<Folder> Folder::OpenAt(int at, const std::string& name, std::string path, int flags,
                                      const absl::Status& above) {
  Descriptor fd(openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (fd.get() < 0) return Errno(errno, path);
  Folder folder(std::move(fd), std::move(path));
  // Of the descriptor, not of the path: what is checked is what is used.
  if (fstat(folder.fd(), &folder.info_) != 0) return Errno(errno, folder.path_);
  // Below a directory that others may change, nothing is ours.
  folder.own_ = above.ok() ? CheckOwn(folder.info_, folder.fd(), folder.path_) : above;
  return folder;
}

absl::StatusOr<Folder> Folder::Open(const std::string& path) {
  return OpenAt(AT_FDCWD, path, path, O_NOFOLLOW, absl::OkStatus());
}

absl::StatusOr<Folder> Folder::Enter(absl::string_view name) const {
  return OpenAt(fd(), std::string(name), absl::StrCat(path_, "/", name), O_NOFOLLOW, own_);
}

absl::StatusOr<Folder> Folder::Follow(absl::string_view name) const {
  return OpenAt(fd(), std::string(name), absl::StrCat(path_, "/", name), 0, own_);
}

absl::StatusOr<Folder> Folder::Make(absl::string_view name) const {
  absl::StatusOr<Folder> folder = Enter(name);
  if (!absl::IsNotFound(folder.status())) return folder;
  // Another process may make it at the same moment; Enter then checks what that one made.
  if (!MakeDirectoryAt(fd(), std::string(name)) && errno != EEXIST) {
    return Errno(errno, absl::StrCat("cannot make directory ", path_, "/", name));
  }
  return Enter(name);
}

absl::StatusOr<FolderFile> Folder::OpenFile(absl::string_view name, int flags) const {
  const std::string path = absl::StrCat(path_, "/", name);
  FolderFile file;
  file.fd = Descriptor(
      openat(fd(), std::string(name).c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (file.fd.get() < 0) return Errno(errno, path);
  if (fstat(file.fd.get(), &file.info) != 0) return Errno(errno, path);
  // NONBLOCK above, because opening a FIFO would wait for its other end.
  if (!S_ISREG(file.info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  }
  // A new file may lack these by the umask.
  if ((flags & O_CREAT) != 0 && (file.info.st_mode & 0600) != 0600) {
    if (fchmod(file.fd.get(), (file.info.st_mode & 07777) | 0600) != 0) return Errno(errno, path);
    file.info.st_mode |= 0600;
  }
  file.own = own_.ok() ? CheckOwn(file.info, file.fd.get(), path) : own_;
  return file;
}

void Folder::ForEachName(absl::FunctionRef<void(const char* name)> visit) const {
  // Open again for a separate read position; all copies of a descriptor share one.
  Descriptor again(openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* handle = again.get() < 0 ? nullptr : fdopendir(again.get());
  if (handle == nullptr) return;
  again.Release();
  while (const dirent* entry = readdir(handle)) {
    if (entry->d_name[0] != '.') visit(entry->d_name);
  }
  closedir(handle);
}

absl::StatusOr<std::string> ReadWhole(int fd, uint64_t size) {
  std::string bytes(size, '\0');
  for (uint64_t done = 0; done < size;) {
    const ssize_t n = pread(fd, &bytes[done], size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "read");
    if (n == 0) return absl::DataLossError("the file ends early");
    done += static_cast<uint64_t>(n);
  }
  return bytes;
}

absl::StatusOr<std::string> ReadOwnFile(const std::string& path, uint64_t limit) {
  // Links are followed here: secrets in containers are links to files of the current version.
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISREG(info.st_mode) ? absl::StrCat(": more than ", limit, " bytes")
                                                 : std::string(": not a file")));
  }
  const absl::Status own = CheckOwn(info, fd.get(), path);
  if (!own.ok()) {
    return absl::PermissionDeniedError(absl::StrCat(own.message(), ": ", kMakeItYours));
  }
  return ReadWhole(fd.get(), static_cast<uint64_t>(info.st_size));
}

}  // namespace kiln
