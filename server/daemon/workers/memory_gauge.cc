#include "server/daemon/workers/memory_gauge.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace kiln {
namespace {

constexpr uint64_t kPlenty = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kOneCompilation = uint64_t{512} << 20;
constexpr double kHeldUp = 40;  // per cent

std::string Read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char text[8192];
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  return std::string(text, size < 0 ? 0 : size);
}

// The number after `name` in a text of lines; kPlenty if there is none.
uint64_t NumberAfter(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    uint64_t number = 0;
    if (absl::SimpleAtoi(line.substr(0, line.find(' ')), &number)) return number;
  }
  return kPlenty;
}

uint64_t Kilobytes(absl::string_view meminfo, absl::string_view name) {
  const uint64_t number = NumberAfter(meminfo, name);
  return number == kPlenty ? kPlenty : number << 10;
}

// From a pressure file: the share of the last ten seconds in which a process stalled.
double HeldUp(const std::string& path) {
  const std::string text = Read(path);
  for (absl::string_view word : absl::StrSplit(text.substr(0, text.find('\n')), ' ')) {
    double percent = 0;
    if (absl::ConsumePrefix(&word, "avg10=") && absl::SimpleAtod(word, &percent)) return percent;
  }
  return 0;
}

}  // namespace

uint64_t MemoryGauge::Available() const {
  uint64_t available = Kilobytes(Read(proc_ + "/meminfo"), "MemAvailable:");
  uint64_t limit = 0, used = 0;
  if (absl::SimpleAtoi(absl::StripAsciiWhitespace(Read(cgroup_ + "/memory.max")), &limit) &&
      absl::SimpleAtoi(absl::StripAsciiWhitespace(Read(cgroup_ + "/memory.current")), &used)) {
    // The kernel drops cached pages of unused files when memory is needed.
    const uint64_t old_files = NumberAfter(Read(cgroup_ + "/memory.stat"), "inactive_file ");
    if (old_files != kPlenty) used -= std::min(used, old_files);
    available = std::min(available, limit - std::min(limit, used));
  }
  return available;
}

bool MemoryGauge::Room() const {
  const uint64_t all = Kilobytes(Read(proc_ + "/meminfo"), "MemTotal:");
  return Available() >= std::min(kOneCompilation, all / 8) &&
         HeldUp(proc_ + "/pressure/memory") <= kHeldUp &&
         HeldUp(cgroup_ + "/memory.pressure") <= kHeldUp;
}

}  // namespace kiln
