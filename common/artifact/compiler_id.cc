#include "common/artifact/compiler_id.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/artifact/cuda_toolkit.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/folder.h"

extern char** environ;

namespace kiln {
namespace {

// The first start of a worker reads some 200 MB of libraries, perhaps from a cold disk.
constexpr absl::Duration kAskTimeout = absl::Seconds(30);
constexpr absl::string_view kAbsent = "- ";  // begins the line of a file that is not there
constexpr absl::string_view kRecordTag = "kiln-compiler-id 2";
constexpr off_t kMaxRecordBytes = 1 << 20;  // a hundred times what it is; a larger file is not ours

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? std::string(resolved) : path;
}

// "size mtime-in-ns"; empty if the file does not exist.
std::string FileStamp(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

// Reads until the end of the stream or the timeout.
absl::StatusOr<std::string> ReadToEnd(int fd, absl::Time deadline) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline - SteadyNow());
    pollfd entry = {fd, POLLIN, 0};
    const int ready = left_ms <= 0 ? 0 : poll(&entry, 1, static_cast<int>(left_ms));
    if (ready == 0) return absl::DeadlineExceededError("no answer to --print-compiler-id");
    if (ready < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, "poll");
    }
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "read");
    text.append(buffer, static_cast<size_t>(got));
    // Another program under the worker's name may print anything.
    if (text.size() > (1 << 20)) return absl::InternalError("endless answer");
  }
}

// Describes how a worker ended, with the last line of its stderr.
std::string HowItEnded(int status, int stderr_fd) {
  char text[512];
  const off_t size = lseek(stderr_fd, 0, SEEK_END);
  const off_t skipped = std::max<off_t>(0, size - static_cast<off_t>(sizeof text));
  const ssize_t got = pread(stderr_fd, text, sizeof text, skipped);
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(text, std::max<ssize_t>(0, got)), '\n', absl::SkipWhitespace());
  return absl::StrCat(WIFSIGNALED(status) ? "killed by signal " : "exit status ",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                      lines.empty() ? "" : ": ", lines.empty() ? "" : lines.back());
}

// Output of `path --print-compiler-id`.
absl::StatusOr<std::string> RunWorker(const std::string& path) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The worker must not read what the user types to the program.
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  // A file and not a second pipe, which would have to be read at the same time.
  const int complaints = memfd_create("stderr", MFD_CLOEXEC);
  const auto close_complaints = absl::MakeCleanup([complaints] { close(complaints); });
  if (complaints >= 0) posix_spawn_file_actions_adddup2(&actions, complaints, 2);
  std::string flag = "--print-compiler-id";
  std::string program = path;
  char* argv[] = {program.data(), flag.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, path.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  // Otherwise the stream would never end.
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot run ", path));
  }
  absl::StatusOr<std::string> text = ReadToEnd(pipe_ends[0], SteadyNow() + kAskTimeout);
  close(pipe_ends[0]);
  // A worker that did not answer in time may never end by itself.
  if (!text.ok()) kill(pid, SIGKILL);
  int status = 0;
  pid_t waited;
  do {
    waited = waitpid(pid, &status, 0);
  } while (waited < 0 && errno == EINTR);
  // If the process ignores SIGCHLD, there is no status; then the output alone decides.
  if (text.ok() && waited == pid && status != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the compiler ", path, " does not run: ", HowItEnded(status, complaints)));
  }
  return text;
}

// "ids toolkit": both ids in hex, then the folder, which may contain spaces.
absl::Status ParseIds(absl::string_view line, CompilerIdRecord* record) {
  const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  if (fields.size() != 3) return absl::NotFoundError("no compiler ids");
  ASSIGN_OR_RETURN(record->ids.cpu, Digest::FromHex(fields[0]));
  ASSIGN_OR_RETURN(record->ids.cuda, Digest::FromHex(fields[1]));
  record->toolkit = fields[2];
  return absl::OkStatus();
}

// "" if there is no such file, or a link or something else in its place.
std::string ReadRecord(const std::string& path) {
  // NONBLOCK: opening a FIFO would wait for its writer.
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info;
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  if (info.st_size > kMaxRecordBytes) return "";
  return ReadWhole(fd.get(), static_cast<uint64_t>(info.st_size)).value_or("");
}

}  // namespace

absl::StatusOr<CompilerIds> ReadCompilerId(const std::string& record_path,
                                           const std::string& worker_path,
                                           absl::string_view toolkit) {
  std::istringstream in(ReadRecord(record_path));
  std::string line;
  if (!std::getline(in, line) || line != kRecordTag || !std::getline(in, line)) {
    return absl::NotFoundError("no compiler id recorded");
  }
  CompilerIdRecord record;
  if (!ParseIds(line, &record).ok()) return absl::NotFoundError("compiler id record is damaged");
  if (!toolkit.empty() && record.toolkit != toolkit) {
    return absl::NotFoundError("compiler id is of another toolkit");
  }
  // The last line says "end": a record that was cut off must not pass with fewer files.
  bool whole = false;
  for (int i = 0; std::getline(in, line); ++i) {
    whole = line == "end";
    if (whole) break;
    if (absl::StartsWith(line, kAbsent)) {
      const std::string path = line.substr(kAbsent.size());
      if (!FileStamp(path).empty()) return absl::NotFoundError(absl::StrCat(path, " is new"));
      continue;
    }
    // "size mtime path"; the path may contain spaces.
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    if (fields.size() != 3) return absl::NotFoundError("compiler id record is damaged");
    // The worker is the first file.
    if (i == 0 && fields[2] != RealPath(worker_path)) {
      return absl::NotFoundError("compiler id is of another worker");
    }
    // The worker's libraries are part of the compiler: another LLVM makes other code.
    if (FileStamp(fields[2]) != absl::StrCat(fields[0], " ", fields[1])) {
      return absl::NotFoundError(absl::StrCat(fields[2], " has changed"));
    }
  }
  if (!whole) return absl::NotFoundError("compiler id record is damaged");
  return record.ids;
}

absl::Status WriteCompilerId(const std::string& record_path, const CompilerIdRecord& record) {
  if (record.files.empty()) return absl::InvalidArgumentError("compiler id without files");
  std::string text = absl::StrCat(kRecordTag, "\n", record.ids.cpu.Hex(), " ",
                                  record.ids.cuda.Hex(), " ", record.toolkit, "\n");
  for (const std::string& given : record.files) {
    // The reader asks whether the worker is the one that it would start, by whatever name.
    const std::string file = &given == &record.files[0] ? RealPath(given) : given;
    const std::string stamp = FileStamp(file);
    // A line end in a path would be read back as another line.
    if (stamp.empty() || file.find('\n') != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("cannot record ", file));
    }
    absl::StrAppend(&text, stamp, " ", file, "\n");
  }
  for (const std::string& file : record.absent) absl::StrAppend(&text, kAbsent, file, "\n");
  text += "end\n";

  // Threads of one process may write the record at the same time.
  static std::atomic<int> serial{0};
  // Written aside and renamed: readers see the old record or the new one.
  const std::string aside = absl::StrCat(record_path, ".", getpid(), ".", serial++);
  std::ofstream out(aside, std::ios::binary);
  out << text;
  out.close();
  // chmod, because of the umask.
  if (!out || chmod(aside.c_str(), 0600) != 0 || rename(aside.c_str(), record_path.c_str()) != 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, "cannot write " + record_path);
    unlink(aside.c_str());
    return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<CompilerIdRecord> AskCompilerId(const std::string& worker_path) {
  ASSIGN_OR_RETURN(const std::string text, RunWorker(worker_path));
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (lines.size() < 2) {
    return absl::InternalError(absl::StrCat(worker_path, " printed no compiler id"));
  }
  CompilerIdRecord record;
  RETURN_IF_ERROR(ParseIds(lines[0], &record));
  for (size_t i = 1; i < lines.size(); ++i) {
    const bool is_absent = absl::StartsWith(lines[i], kAbsent);
    if (is_absent) lines[i].erase(0, kAbsent.size());
    (is_absent ? record.absent : record.files).push_back(std::move(lines[i]));
  }
  return record;
}

absl::StatusOr<CompilerIds> GetCompilerId(const std::string& record_path,
                                          const std::string& worker_path) {
  absl::StatusOr<CompilerIds> known = ReadCompilerId(record_path, worker_path, CudaToolkit());
  if (known.ok()) return known;
  ASSIGN_OR_RETURN(CompilerIdRecord record, AskCompilerId(worker_path));
  // Without the record, the next start asks the worker again, which costs a start of the compiler.
  WriteCompilerId(record_path, record).IgnoreError();
  return record.ids;
}

}  // namespace kiln
