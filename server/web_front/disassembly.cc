#include "server/web_front/disassembly.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace kiln {
namespace {

// More than a person reads; browsers become slow beyond it.
constexpr size_t kMaxText = 2 << 20;
constexpr absl::Duration kPatience = absl::Seconds(10);
// Absolute paths: PATH may name a folder of another user.
constexpr const char* kPrograms[] = {"/usr/bin/llvm-objdump-19", "/usr/bin/llvm-objdump",
                                     "/usr/bin/objdump"};

// An anonymous file that contains `bytes`.
absl::StatusOr<int> MemoryFile(absl::string_view bytes) {
  const int fd = memfd_create("kernel", 0);  // the child inherits it
  if (fd < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n <= 0) {
      close(fd);
      return absl::ErrnoToStatus(errno, "write");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return fd;
}

std::string ReadAll(int fd, absl::Time deadline) {
  std::string text;
  char buffer[16 << 10];
  while (text.size() < kMaxText) {
    pollfd entry = {fd, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    if (left <= 0 || poll(&entry, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
  return absl::StrCat(text, "\n… cut here\n");
}

}  // namespace

absl::StatusOr<std::string> Disassemble(absl::string_view elf) {
  const char* const* program = std::find_if(std::begin(kPrograms), std::end(kPrograms),
                                            [](const char* p) { return access(p, X_OK) == 0; });
  if (program == std::end(kPrograms)) {
    return absl::NotFoundError("no disassembler is installed (llvm-objdump or objdump)");
  }
  absl::StatusOr<int> file = MemoryFile(elf);
  if (!file.ok()) return file.status();
  const auto close_file = absl::MakeCleanup([&] { close(*file); });
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const auto close_out = absl::MakeCleanup([&] { close(out[0]); });

  std::string path = absl::StrCat("/proc/self/fd/", *file), dir = "-d";
  std::string raw = "--no-show-raw-insn", demangle = "-C";
  char* argv[] = {
      const_cast<char*>(*program), dir.data(), raw.data(), demangle.data(), path.data(), nullptr};
  // Nothing of ours: a disassembler needs no variables, and LD_PRELOAD would be code of others.
  char* environment[] = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, *program, &actions, nullptr, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  if (error != 0) return absl::ErrnoToStatus(error, *program);
  std::string text = ReadAll(out[0], SteadyNow() + kPatience);
  // Also when it has ended: a text that was cut leaves it blocked on the pipe.
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace kiln
