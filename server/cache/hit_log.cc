#include "server/cache/hit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/home/regular_file.h"

namespace kiln {

std::vector<Place> HitLog::ReadNew() {
  constexpr size_t kRecord = sizeof(Digest::bytes);
  std::vector<Place> hits;
  const absl::StatusOr<Descriptor> file = OpenRegularFile(path_, O_RDWR | O_NOFOLLOW);
  if (!file.ok()) return hits;
  const int fd = file->get();
  struct stat st;
  if (fstat(fd, &st) != 0) return hits;
  const uint64_t size = st.st_size;
  // Clients stop long before. Each record takes memory here, and a sparse file has any number.
  if (size > kMostLogBytes) {
    offset_ = ftruncate(fd, 0) == 0 ? 0 : size / kRecord * kRecord;
    return hits;
  }
  if (size < offset_ || offset_ % kRecord != 0)
    offset_ = 0;  // truncated, or not written by clients
  std::string block(size_t{64} << 10, '\0');
  while (offset_ + kRecord <= size) {
    const ssize_t n = pread(fd, &block[0], block.size(), offset_);
    if (n < static_cast<ssize_t>(kRecord)) break;
    for (size_t at = 0; at + kRecord <= static_cast<size_t>(n); at += kRecord) {
      hits.emplace_back(*Digest::FromBytes(absl::string_view(block).substr(at, kRecord)));
      offset_ += kRecord;
    }
  }
  if (offset_ > kMaxLogBytes && fstat(fd, &st) == 0 &&
      static_cast<uint64_t>(st.st_size) - offset_ < kRecord && ftruncate(fd, 0) == 0) {
    offset_ = 0;
  }
  return hits;
}

}  // namespace kiln
