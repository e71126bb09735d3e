#include "server/daemon/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/daemon/json_text.h"

namespace kiln {
namespace {

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
std::string* path = nullptr;  // null: stderr as it is
uint64_t max_size = 0;
std::atomic<bool> as_json{false};

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

void Write(const std::string& text) {
  absl::MutexLock lock(&mutex);
  RotateIfFull();
  // A full disk takes the log, not the daemon.
  if (write(2, text.data(), text.size()) < 0) return;
}

std::string JsonHead() {
  return absl::StrCat("{\"time\":\"",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
                      "\",\"pid\":", getpid());
}

}  // namespace

void LogToFile(const std::string& file, uint64_t max_bytes) {
  absl::MutexLock lock(&mutex);
  path = new std::string(file);
  max_size = max_bytes;
  Reopen();
}

void LogAsJson() { as_json = true; }

bool LogsEvents() { return as_json; }

void LogEvent(const char* event, const LogFields& fields) {
  if (!as_json) return;
  std::string text = JsonHead();
  absl::StrAppend(&text, ",\"event\":", JsonString(event));
  for (const auto& [name, value] : fields) absl::StrAppend(&text, ",\"", name, "\":", value);
  Write(text + "}\n");
}

void LogLine(const std::string& line) {
  if (as_json) {
    Write(absl::StrCat(JsonHead(), ",\"message\":", JsonString(line), "}\n"));
    return;
  }
  Write(absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::Now(), absl::UTCTimeZone()),
                     " kilnd[", getpid(), "] ", line, "\n"));
}

}  // namespace kiln
