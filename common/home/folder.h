// Decides whether a directory's content can be trusted. Client and daemon ask this before they
// read, run, change or delete anything in it.
//
// A file or directory is the user's *own* if only this user and root can have written it: one of
// the two owns it, and others cannot write to it. A group whose only member is the user counts as
// the user; an access control list that lets others write shows in the mode. A file is own only if
// its directory is. KILN_OWNER_CHECK=off makes everything own; for containers whose volumes have
// unusual owners, and in which one user runs.
//
// A Folder is an open directory. Files below it are reached from its descriptor and never through a
// link. The checked file is therefore the used file, even if names change meanwhile.
//
// Thread safety: const methods; pure functions of the file system.
#ifndef KILN_COMMON_HOME_FOLDER_H_
#define KILN_COMMON_HOME_FOLDER_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

// A descriptor that this object closes; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// An open regular file, and whether it is own.
struct FolderFile {
  Descriptor fd;
  struct stat info;
  absl::Status own;
};

class Folder {
 public:
  // Opens the directory at `path`, whose last part must not be a link.
  static absl::StatusOr<Folder> Open(const std::string& path);
  // Opens the directory `name` in this one. NotFound: it does not exist; FailedPrecondition: it is
  // a link, or not a directory.
  absl::StatusOr<Folder> Enter(absl::string_view name) const;
  // The same, but follows a link: a user who can create one here could put anything here anyway.
  absl::StatusOr<Folder> Follow(absl::string_view name) const;
  // The same as Enter, but creates a missing directory (0700, whatever the umask).
  absl::StatusOr<Folder> Make(absl::string_view name) const;

  // Opens the regular file `name`; `flags` as for open(2), a new file has mode 0600, whatever the
  // umask. NotFound, or FailedPrecondition as for Enter.
  absl::StatusOr<FolderFile> OpenFile(absl::string_view name, int flags) const;
  // Calls `visit` for each name that does not begin with a dot.
  void ForEachName(absl::FunctionRef<void(const char* name)> visit) const;

  // OK, or PermissionDenied, which says which directory is not own, and why.
  const absl::Status& own() const { return own_; }
  const struct stat& info() const { return info_; }
  int fd() const { return fd_.get(); }
  // For messages.
  const std::string& path() const { return path_; }

 private:
  Folder(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static absl::StatusOr<Folder> OpenAt(int at, const std::string& name, std::string path, int flags,
                                       const absl::Status& above);

  Descriptor fd_;
  std::string path_;
  struct stat info_ = {};
  absl::Status own_;
};

// Advice for messages: how to make a directory or file own.
inline constexpr char kMakeItYours[] = "make it yours alone (chown, chmod go-w)";

// Creates the directory `name` below the directory `at` (or AT_FDCWD). Its user may use it,
// whatever the umask; others may not. False: errno says why.
bool MakeDirectoryAt(int at, const std::string& name);

// OK, or PermissionDenied, which says why the file of `info` is not own. `fd`: the same, open.
absl::Status CheckOwn(const struct stat& info, int fd, absl::string_view path);

// OK if only this user and root can replace the absolute `path`: they own each link on the way, and
// others cannot rename anything in a directory on the way. Missing parts count as safe. Of `path`
// itself only links are checked.
absl::Status CheckWay(const std::string& path);

// Reads the file at `path`, which the user chose and whose links are followed: a list of keys, a
// configuration. PermissionDenied: it is not own. InvalidArgument: it is not a regular file, or has
// more than `limit` bytes.
absl::StatusOr<std::string> ReadOwnFile(const std::string& path, uint64_t limit);

// Reads an open file of `size` bytes; DataLoss if it has become shorter.
absl::StatusOr<std::string> ReadWhole(int fd, uint64_t size);

}  // namespace kiln

#endif  // KILN_COMMON_HOME_FOLDER_H_
