#include "server/observe/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/plain_text.h"
#include "google/protobuf/stubs/logging.h"
#include "server/observe/json_text.h"

namespace kiln {
namespace {

constexpr off_t kMaxBytes = 1 << 20;
constexpr size_t kMostOfLine = 8 << 10;  // limits the space that a peer's text takes in the log
constexpr absl::string_view kFileFlag = "--log-file=";
constexpr absl::string_view kJsonFlag = "--log-json";

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
std::string* path = nullptr;  // null: stderr as it is
std::atomic<bool> as_json{false};
std::atomic<const char*> program{"kilnd"};

void Reopen() {
  // NONBLOCK, because a FIFO would wait for a reader.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int fd = open(path->c_str(), kFlags, 0600);
  // The old file must not grow for ever if the new one cannot be made.
  if (fd < 0) fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  // As descriptor 2, so that libraries and crashed children write to the same file.
  dup2(fd, 2);
  close(fd);
}

void RotateIfFull() {
  struct stat own, named;
  if (path == nullptr || fstat(2, &own) != 0 || !S_ISREG(own.st_mode)) return;
  // Another process may have begun a new file.
  const bool current = stat(path->c_str(), &named) == 0 && named.st_ino == own.st_ino;
  if (current && own.st_size < kMaxBytes) return;
  // One old file is kept: together at most 2 MiB.
  if (current) rename(path->c_str(), (*path + ".1").c_str());
  Reopen();
}

void Write(const std::string& text) {
  absl::MutexLock lock(&mutex);
  RotateIfFull();
  // A full disk costs log lines, not the daemon.
  if (write(2, text.data(), text.size()) < 0) return;
}

std::string JsonHead() {
  return absl::StrCat("{\"time\":\"",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
                      "\",\"program\":\"", program.load(), "\",\"pid\":", getpid());
}

}  // namespace

void LogToFile(const std::string& file) {
  absl::MutexLock lock(&mutex);
  // Never freed, as threads may log while the process ends.
  path = new std::string(file);
  Reopen();
}

std::vector<std::string> LogFlags() {
  std::vector<std::string> flags;
  absl::MutexLock lock(&mutex);
  if (path != nullptr) flags.push_back(absl::StrCat(kFileFlag, *path));
  if (as_json) flags.emplace_back(kJsonFlag);
  return flags;
}

bool TakeLogFlag(absl::string_view arg) {
  if (arg == kJsonFlag) {
    LogAsJson();
    return true;
  }
  if (!absl::ConsumePrefix(&arg, kFileFlag)) return false;
  LogToFile(std::string(arg));
  return true;
}

void LogAs(const char* name) {
  program = name;
  // Messages about malformed input of peers would otherwise be on stderr without time and program.
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
        Log("libprotobuf: ", message);
      });
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

void LogLine(const std::string& text) {
  // A line end in a peer's text could fake another line of the log.
  const std::string line = OneLine(text, kMostOfLine);
  if (as_json) {
    Write(absl::StrCat(JsonHead(), ",\"message\":", JsonString(line), "}\n"));
    return;
  }
  Write(absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::Now(), absl::UTCTimeZone()), " ",
                     program.load(), "[", getpid(), "] ", line, "\n"));
}

}  // namespace kiln
