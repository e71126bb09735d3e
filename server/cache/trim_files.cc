#include "server/cache/trim_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/home/folder.h"

namespace kiln {
namespace {

constexpr uint64_t kStatBlock = 512;  // the unit of st_blocks on every file system
constexpr size_t kLeastDigits = 30;   // of a note's name; its directory may hold the rest

struct File {
  int64_t used;  // seconds
  uint64_t bytes;
  std::vector<std::string> way;  // directories below the root, then the file
};

// Whether a client generates such names: digits of a digest, and a suffix while it is being
// written.
bool IsNote(absl::string_view name) {
  const size_t digits = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
  return digits >= kLeastDigits && (digits == name.size() || name[digits] == '.');
}

void AddFilesOf(const Folder& folder, std::vector<std::string>* way, std::vector<File>* files) {
  if (!folder.own().ok()) return;
  folder.ForEachName([&](const char* name) {
    struct stat st;
    if (fstatat(folder.fd(), name, &st, AT_SYMLINK_NOFOLLOW) != 0) return;
    way->push_back(name);
    if (S_ISREG(st.st_mode) && IsNote(name)) {
      files->push_back({std::max(st.st_atime, st.st_mtime), st.st_blocks * kStatBlock, *way});
    } else if (S_ISDIR(st.st_mode)) {
      const absl::StatusOr<Folder> inner = folder.Enter(name);
      if (inner.ok()) AddFilesOf(*inner, way, files);
    }
    way->pop_back();
  });
}

bool Unlink(const std::string& root, const std::vector<std::string>& way) {
  absl::StatusOr<Folder> folder = Folder::Open(root);
  for (size_t i = 0; folder.ok() && i + 1 < way.size(); ++i) folder = folder->Enter(way[i]);
  return folder.ok() && folder->own().ok() && unlinkat(folder->fd(), way.back().c_str(), 0) == 0;
}

}  // namespace

int TrimFiles(const std::string& dir, uint64_t max_bytes) {
  std::vector<File> files;
  std::vector<std::string> way;
  if (const absl::StatusOr<Folder> root = Folder::Open(dir); root.ok()) {
    AddFilesOf(*root, &way, &files);
  }
  uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  if (bytes <= max_bytes) return 0;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  const uint64_t target = max_bytes / 10 * 9;
  int deleted = 0;
  for (const File& file : files) {
    if (bytes <= target) break;
    if (Unlink(dir, file.way)) ++deleted;
    bytes -= file.bytes;
  }
  return deleted;
}

}  // namespace kiln
