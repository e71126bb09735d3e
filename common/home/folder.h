// Whether this user may believe what lies in a directory: the one place that answers it, for
// clients and for the daemon, before anything there is read, run, changed or deleted.
//
// A file or directory is the user's *own* if only this user and root can have written it: one of
// the two owns it, and others may not write to it. A group that is the user alone is the user; an
// access control list that lets somebody write shows in the mode. What lies in a directory is own
// only if the directory is. KILN_OWNER_CHECK=off: everything is own; for containers whose volumes
// have odd owners, and in which one user runs.
//
// A Folder is a directory held open. What is below it is reached from its descriptor and never by
// a link, so what was checked is what is used, whatever is renamed meanwhile.
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

// A descriptor that is closed with this; -1: none.
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

// A regular file that is open, and whether it is own.
struct FolderFile {
  Descriptor fd;
  struct stat info;
  absl::Status own;
};

class Folder {
 public:
  // The directory at `path`, the last part of which may be no link.
  static absl::StatusOr<Folder> Open(const std::string& path);
  // The directory `name` in this one. NotFound: there is none; FailedPrecondition: it is a link,
  // or no directory.
  absl::StatusOr<Folder> Enter(absl::string_view name) const;
  // The same, but a link leads on: who could make one here could put anything here.
  absl::StatusOr<Folder> Follow(absl::string_view name) const;
  // The same as Enter, made (0700) where there is none.
  absl::StatusOr<Folder> Make(absl::string_view name) const;

  // Opens the regular file `name`; `flags` as for open(2), a new file has mode 0600. NotFound,
  // or FailedPrecondition as for Enter.
  absl::StatusOr<FolderFile> OpenFile(absl::string_view name, int flags) const;
  // Calls `visit` for each name but those that begin with a dot.
  void ForEachName(absl::FunctionRef<void(const char* name)> visit) const;

  // OK, or PermissionDenied that says which directory is not own, and why.
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

// What mends a directory or file that is not own.
inline constexpr char kMakeItYours[] = "make it yours alone (chown, chmod go-w)";

// OK, or PermissionDenied that says why what `info` describes is not own. `fd`: the same, open.
absl::Status CheckOwn(const struct stat& info, int fd, absl::string_view path);

// OK if nobody but this user and root can exchange what lies at the absolute `path`: each link on
// the way is theirs, and others may rename nothing in a directory on the way. What is missing has
// no way yet. Of `path` itself only links count.
absl::Status CheckWay(const std::string& path);

// The bytes of the file at `path`, a user's choice, whose links are followed: a list of keys, a
// configuration. PermissionDenied: it is not own. InvalidArgument: it is no regular file, or has
// more than `limit` bytes.
absl::StatusOr<std::string> ReadOwnFile(const std::string& path, uint64_t limit);

// All bytes of an open file of `size` bytes; DataLoss if it has fewer by now.
absl::StatusOr<std::string> ReadWhole(int fd, uint64_t size);

}  // namespace kiln

#endif  // KILN_COMMON_HOME_FOLDER_H_
