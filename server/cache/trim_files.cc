#include "server/cache/trim_files.h"

#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln {
namespace {

constexpr uint64_t kStatBlock = 512;  // of st_blocks, whatever the file system's is

struct File {
  int64_t used;  // seconds
  uint64_t bytes;
  std::string path;
};

std::vector<File> FilesBelow(const std::string& dir) {
  std::vector<File> files;
  std::string root = dir;
  char* const roots[] = {&root[0], nullptr};
  FTS* walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr);
  if (walk == nullptr) return files;
  while (const FTSENT* entry = fts_read(walk)) {
    if (entry->fts_info != FTS_F) continue;
    const struct stat& st = *entry->fts_statp;
    files.push_back({std::max(st.st_atime, st.st_mtime), st.st_blocks * kStatBlock,
                     std::string(entry->fts_path, entry->fts_pathlen)});
  }
  fts_close(walk);
  return files;
}

}  // namespace

int TrimFiles(const std::string& dir, uint64_t max_bytes) {
  std::vector<File> files = FilesBelow(dir);
  uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  if (bytes <= max_bytes) return 0;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  const uint64_t target = max_bytes / 10 * 9;
  int deleted = 0;
  for (const File& file : files) {
    if (bytes <= target) break;
    if (unlink(file.path.c_str()) == 0) ++deleted;
    bytes -= file.bytes;
  }
  return deleted;
}

}  // namespace kiln
