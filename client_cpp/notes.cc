#include "client_cpp/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/home/folder.h"

namespace kiln {
namespace {

// Several times the largest note: a forged file must not take all memory.
constexpr off_t kMaxNoteBytes = off_t{256} << 20;

// The directory of the note `name`, whose last part becomes `file`.
absl::StatusOr<Folder> FolderOf(const Home& home, absl::string_view name, bool make,
                                std::string* file) {
  std::vector<std::string> parts = absl::StrSplit(name, '/');
  *file = std::move(parts.back());
  parts.pop_back();
  ASSIGN_OR_RETURN(Folder folder, home.Open());
  for (const std::string& part : parts) {
    absl::StatusOr<Folder> next = make ? folder.Make(part) : folder.Enter(part);
    RETURN_IF_ERROR(next.status());
    folder = *std::move(next);
  }
  RETURN_IF_ERROR(folder.own());
  return folder;
}

}  // namespace

absl::StatusOr<std::string> ReadNote(const Home& home, absl::string_view name) {
  std::string base;
  ASSIGN_OR_RETURN(const Folder folder, FolderOf(home, name, /*make=*/false, &base));
  ASSIGN_OR_RETURN(const FolderFile file, folder.OpenFile(base, O_RDONLY));
  RETURN_IF_ERROR(file.own);
  if (file.info.st_size > kMaxNoteBytes) {
    return absl::DataLossError(absl::StrCat(name, ": ", file.info.st_size, " bytes are too many"));
  }
  return ReadWhole(file.fd.get(), static_cast<uint64_t>(file.info.st_size));
}

absl::Status WriteNote(const Home& home, absl::string_view name, absl::string_view bytes) {
  std::string base;
  absl::StatusOr<Folder> folder = FolderOf(home, name, /*make=*/true, &base);
  if (absl::IsNotFound(folder.status())) {  // the home does not exist yet
    RETURN_IF_ERROR(home.Create());
    folder = FolderOf(home, name, /*make=*/true, &base);
  }
  RETURN_IF_ERROR(folder.status());
  static std::atomic<int> serial{0};
  const std::string aside = absl::StrCat(base, ".", getpid(), ".", serial.fetch_add(1), ".tmp");
  ASSIGN_OR_RETURN(const FolderFile file, folder->OpenFile(aside, O_WRONLY | O_CREAT | O_TRUNC));
  errno = ENOSPC;  // what a short write without error means
  const bool written =
      write(file.fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (written && renameat(folder->fd(), aside.c_str(), folder->fd(), base.c_str()) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  unlinkat(folder->fd(), aside.c_str(), 0);
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", folder->path(), "/", base));
}

}  // namespace kiln
