#include "common/home/home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/home/user_directory.h"

namespace kiln {
namespace {

constexpr char kSocketNote[] = "socket-directory";
constexpr uint64_t kMaxNoteBytes = 256;
// Each try can fail once because another process writes or removes the note at the same time.
constexpr int kNoteTries = 3;

absl::Status MakeDirectory(const std::string& path) {
  if (MakeDirectoryAt(AT_FDCWD, path) || errno == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot make directory ", path));
}

// Like mkdir -p. Does not change existing parents.
absl::Status MakeDirectories(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string parent = path.substr(0, at);
    struct stat info;
    // Not mkdir alone: for an existing parent on a read-only or automounted file system it may fail
    // otherwise than with EEXIST.
    if (stat(parent.c_str(), &info) != 0) RETURN_IF_ERROR(MakeDirectory(parent));
  }
  RETURN_IF_ERROR(MakeDirectory(path));
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " is not a directory"));
}

// OK if the folder is own, or if it is missing or not a directory: then there is nothing to trust.
absl::Status OwnOrAbsent(const absl::StatusOr<Folder>& folder) {
  if (folder.ok()) return folder->own();
  const bool absent =
      absl::IsNotFound(folder.status()) || absl::IsFailedPrecondition(folder.status());
  return absent ? absl::OkStatus() : folder.status();
}

absl::Status WithAdvice(const absl::Status& status) {
  if (status.ok()) return status;
  // What cannot be looked at for another reason, as a name that is too long, cannot be made own.
  const std::string make =
      absl::IsPermissionDenied(status) ? absl::StrCat(kMakeItYours, ", or ") : "";
  return absl::PermissionDeniedError(
      absl::StrCat(status.message(), ": ", make, "set KILN_HOME to a directory of your own"));
}

// In /tmp, not in the home: a home may be on a network file system without sockets, or have too
// long a path.
std::string UsualSocketDirectory() { return absl::StrCat("/tmp/kiln-", getuid()); }

// OK if only this user can use the directory at `path`. Unavailable: another user has taken the
// name. PermissionDenied: it is this user's, but has the wrong mode or kind.
absl::Status CheckPrivate(const std::string& path) {
  struct stat info;
  // lstat: a link at this place may lead anywhere, and its owner may change it.
  if (lstat(path.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (info.st_uid != getuid()) {
    return absl::UnavailableError(absl::StrCat(path, " belongs to user ", info.st_uid));
  }
  if (S_ISDIR(info.st_mode) && (info.st_mode & 077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, " must be a directory of yours with mode 0700; remove it"));
}

// The directory that the note names, if it has the form of a name that Kiln makes.
absl::StatusOr<std::string> ReadSocketNote(const Folder& home) {
  ASSIGN_OR_RETURN(const FolderFile note, home.OpenFile(kSocketNote, O_RDONLY));
  RETURN_IF_ERROR(note.own);
  ASSIGN_OR_RETURN(const std::string text,
                   ReadWhole(note.fd.get(), std::min<uint64_t>(note.info.st_size, kMaxNoteBytes)));
  absl::string_view name = absl::StripTrailingAsciiWhitespace(text);
  std::string path(name);
  const bool has_form =
      absl::ConsumePrefix(&name, UsualSocketDirectory() + "-") &&
      std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c); });
  if (!has_form) return absl::DataLossError("socket-directory: not a socket directory's path");
  RETURN_IF_ERROR(MakeDirectory(path));  // a reboot removes it
  RETURN_IF_ERROR(CheckPrivate(path));
  return path;
}

// Creates a directory with an unguessable name and records it in a note, unless another process has
// written the note meanwhile.
absl::Status WriteSocketNote(const Folder& home) {
  std::string path = UsualSocketDirectory() + "-XXXXXX";
  // chmod, because of the umask.
  if (mkdtemp(path.data()) == nullptr || chmod(path.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  const std::string aside = absl::StrCat(kSocketNote, ".", getpid());
  ASSIGN_OR_RETURN(const FolderFile file, home.OpenFile(aside, O_WRONLY | O_CREAT | O_TRUNC));
  const bool written =
      write(file.fd.get(), path.data(), path.size()) == static_cast<ssize_t>(path.size());
  const bool linked = written && linkat(home.fd(), aside.c_str(), home.fd(), kSocketNote, 0) == 0;
  const int error = errno;
  unlinkat(home.fd(), aside.c_str(), 0);
  if (linked) return absl::OkStatus();
  rmdir(path.c_str());
  if (written && error == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", home.path(), "/", kSocketNote));
}

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
  // Resolve links as far as the path exists: all names of a directory must yield the same socket.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("KILN_HOME ", path, ": ", error.message()));
  }
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
  std::string text = error ? absolute.lexically_normal().string() : canonical.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return Home(std::move(text), absolute.string());
}

std::string Home::EntryName(const Place& place) { return place.Hex() + ".so"; }

std::string Home::ShardName(const Place& place) { return place.Hex().substr(0, 2); }

bool Home::IsShardName(absl::string_view name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

absl::StatusOr<Place> Home::PlaceOfEntryName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".so")) return absl::NotFoundError("not an entry");
  return Place::FromHex(name);
}

std::string Home::EntryPath(const Place& place) const {
  return absl::StrCat(dir_, "/cache/", ShardName(place), "/", EntryName(place));
}

absl::StatusOr<Folder> Home::OpenCache() const {
  ASSIGN_OR_RETURN(const Folder home, Open());
  return home.Follow("cache");
}

absl::StatusOr<Folder> Home::OpenShard(const Place& place) const {
  ASSIGN_OR_RETURN(const Folder cache, OpenCache());
  return cache.Enter(ShardName(place));
}

absl::Status Home::CheckIsOwn() const {
  absl::Status status = OwnOrAbsent(Open());
  status.Update(CheckWay(given_));
  return WithAdvice(status);
}

absl::Status Home::CheckIsOwnWithCache() const {
  RETURN_IF_ERROR(CheckIsOwn());
  const absl::StatusOr<Folder> cache = OpenCache();
  absl::Status status = OwnOrAbsent(cache);
  status.Update(CheckWay(CacheDir()));
  if (cache.ok()) status.Update(OwnOrAbsent(cache->Enter("tmp")));
  return WithAdvice(status);
}

absl::StatusOr<std::string> Home::SocketDirectory() const {
  std::string usual = UsualSocketDirectory();
  absl::Status status = MakeDirectory(usual);
  // Another user may have created this name first, and could then impersonate the daemon.
  status.Update(CheckPrivate(usual));
  if (status.ok()) return usual;
  // Only a name that another user has taken needs another name. What is this user's own is
  // reported.
  if (!absl::IsUnavailable(status)) return status;
  return NotedSocketDirectory();
}

absl::StatusOr<std::string> Home::NotedSocketDirectory() const {
  RETURN_IF_ERROR(Create());
  ASSIGN_OR_RETURN(const Folder home, Open());
  absl::StatusOr<std::string> noted = ReadSocketNote(home);
  for (int i = 0; i < kNoteTries && !noted.ok(); ++i) {
    // The note is damaged, or another user has taken the name meanwhile.
    if (!absl::IsNotFound(noted.status())) unlinkat(home.fd(), kSocketNote, 0);
    RETURN_IF_ERROR(WriteSocketNote(home));
    noted = ReadSocketNote(home);
  }
  return noted;
}

std::string Home::PathIn(const std::string& socket_directory, const char* suffix) const {
  // A digest, because a socket's path has at most 107 bytes and a home's any number.
  return absl::StrCat(socket_directory, "/", Sha256Of(dir_).Hex().substr(0, 16), suffix);
}

absl::StatusOr<std::string> Home::SocketPath() const {
  ASSIGN_OR_RETURN(const std::string directory, SocketDirectory());
  return PathIn(directory, ".sock");
}

std::string Home::PathBesideSocket(const char* suffix) const {
  return PathIn(SocketDirectory().value_or(UsualSocketDirectory()), suffix);
}

absl::Status Home::Create() const {
  RETURN_IF_ERROR(MakeDirectories(dir_));
  ASSIGN_OR_RETURN(const Folder home, Open());
  RETURN_IF_ERROR(home.own());
  absl::StatusOr<Folder> cache = home.Follow("cache");
  if (absl::IsNotFound(cache.status())) cache = home.Make("cache");
  RETURN_IF_ERROR(cache.status());
  RETURN_IF_ERROR(cache->own());
  return cache->Make("tmp").status();
}

}  // namespace kiln
