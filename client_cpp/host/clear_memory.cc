#include "client_cpp/host/clear_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace kiln {
namespace {

constexpr uint64_t kPage = 4096;
// Below this size, asking the system costs more than it can save.
constexpr uint64_t kAskFrom = uint64_t{4} << 20;
constexpr size_t kPagesAtOnce = 4096;

// The system's account of this process's pages: one word per page (Linux, Documentation/
// admin-guide/mm/pagemap.rst). Some sandboxes have none.
class PageMap {
 public:
  PageMap() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)), words_(kPagesAtOnce) {
    // The page of a local variable is present. An account that says otherwise is not to be trusted.
    const volatile uint8_t present = 1;
    is_usable_ = Read(reinterpret_cast<uintptr_t>(&present) / kPage, 1) && HasData(0);
  }
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool is_usable() const { return is_usable_; }

  // Reads the words of `count` pages, at most kPagesAtOnce; false if that fails.
  bool Read(uint64_t first_page, size_t count) {
    if (file_ < 0) return false;
    const auto bytes = static_cast<ssize_t>(count * sizeof(uint64_t));
    const auto at = static_cast<off_t>(first_page * sizeof(uint64_t));
    return pread(file_, words_.data(), bytes, at) == bytes;
  }
  // Whether the i-th page of the last Read is in memory or swapped out. A page that is neither has
  // never been touched, and reads as zero.
  bool HasData(size_t i) const {
    constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62;
    return (words_[i] & (kPresent | kSwapped)) != 0;
  }

 private:
  const int file_;
  std::vector<uint64_t> words_;
  bool is_usable_ = false;
};

}  // namespace

void ClearMemory(uint8_t* at, uint64_t bytes) {
  if (bytes < kAskFrom) {
    std::memset(at, 0, bytes);
    return;
  }
  PageMap map;
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const uint64_t first = begin / kPage, end = (begin + bytes + kPage - 1) / kPage;
  for (uint64_t page = first; page < end; page += kPagesAtOnce) {
    const size_t count = std::min<uint64_t>(kPagesAtOnce, end - page);
    const bool is_known = map.is_usable() && map.Read(page, count);
    for (size_t i = 0; i < count;) {
      size_t run = i;
      while (run < count && (!is_known || map.HasData(run))) ++run;
      const uint64_t from = std::max<uint64_t>((page + i) * kPage, begin);
      const uint64_t to = std::min<uint64_t>((page + run) * kPage, begin + bytes);
      if (run > i) std::memset(at + (from - begin), 0, to - from);
      i = run + 1;
    }
  }
}

}  // namespace kiln
