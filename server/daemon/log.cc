#include "server/daemon/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace kiln {
namespace {

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
std::string* path = nullptr;  // null: stderr as it is
uint64_t max_size = 0;

void Reopen() {
  int fd = open(path->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  dup2(fd, 2);
  close(fd);
}

void RotateIfFull() {
  struct stat st;
  if (path == nullptr || fstat(2, &st) != 0 || !S_ISREG(st.st_mode)) return;
  if (static_cast<uint64_t>(st.st_size) < max_size) return;
  rename(path->c_str(), (*path + ".1").c_str());
  Reopen();
}

}  // namespace

void LogToFile(const std::string& file, uint64_t max_bytes) {
  absl::MutexLock lock(&mutex);
  path = new std::string(file);
  max_size = max_bytes;
  Reopen();
}

void LogLine(const std::string& line) {
  const std::string text =
      absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::Now(), absl::UTCTimeZone()),
                   " kilnd[", getpid(), "] ", line, "\n");
  absl::MutexLock lock(&mutex);
  RotateIfFull();
  // A full disk takes the log, not the daemon.
  if (write(2, text.data(), text.size()) < 0) return;
}

}  // namespace kiln
