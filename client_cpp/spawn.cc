#include "client_cpp/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

extern char** environ;

namespace kiln {
namespace {

bool HoldsPrograms(const std::string& dir) {
  for (const char* name : {"/kilnd", "/kiln-worker"}) {
    if (access(absl::StrCat(dir, name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// The folder of the file that contains this function: the program or the Python module.
std::string OwnDirectory() {
  Dl_info info;
  char resolved[PATH_MAX];
  // The module's folder, not the program's: the program is Python.
  if (dladdr(reinterpret_cast<void*>(&FindBinDir), &info) == 0 || info.dli_fname == nullptr ||
      realpath(info.dli_fname, resolved) == nullptr) {
    ssize_t n = readlink("/proc/self/exe", resolved, sizeof resolved - 1);
    if (n <= 0) return "";
    resolved[n] = '\0';
  }
  std::string path = resolved;
  return path.substr(0, path.rfind('/'));
}

void AwaitOrKill(pid_t pid, absl::Time deadline) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;  // an old kernel: waits without a limit
  pollfd entry = {fd, POLLIN, 0};
  int ready;
  do {
    const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    ready = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left, 0)));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) kill(pid, SIGKILL);
  close(fd);
}

// Programs that this process starts may have another working directory.
std::string Absolute(const std::string& dir) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(dir, error);
  return error ? dir : path.string();
}

}  // namespace

std::string FindBinDir(const std::string& dir) {
  if (!dir.empty()) return Absolute(dir);
  if (const char* bin = std::getenv("KILN_BIN"); bin != nullptr && *bin != '\0') {
    return Absolute(bin);
  }
  std::string at = OwnDirectory();
  // Upwards from a build folder or an installed package to the folder with
  // bin/, .kiln/bin/ or, of Debian's packages, libexec/kiln/.
  for (int up = 0; up < 6 && !at.empty(); ++up) {
    for (const char* sub : {"", "/bin", "/.kiln/bin", "/libexec/kiln"}) {
      if (HoldsPrograms(at + sub)) return at + sub;
    }
    at = at.substr(0, at.rfind('/'));
  }
  return "";
}

absl::StatusOr<pid_t> Spawn(const std::string& program, std::vector<std::string> arguments,
                            int pass, int errors) {
  if (access(program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(program, ": ", strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A daemon outlives the program: it must not hold the program's terminal or pipes open.
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors, 2);
  if (pass >= 0) posix_spawn_file_actions_adddup2(&actions, pass, kPassedDescriptor);
  // Descriptors of the program without CLOEXEC, such as sockets of other libraries, are not the
  // child's.
  posix_spawn_file_actions_addclosefrom_np(&actions,
                                           pass >= 0 ? kPassedDescriptor + 1 : kPassedDescriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  // Masks and ignored signals are inherited by exec; a program may have any.
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  // Ctrl-C at the terminal should reach the user's program only.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot run ", program));
  return pid;
}

int WaitForExit(pid_t pid, absl::Time deadline) {
  if (deadline != absl::InfiniteFuture()) AwaitOrKill(pid, deadline);
  int status = 0;
  pid_t waited;
  do {
    waited = waitpid(pid, &status, 0);
  } while (waited < 0 && errno == EINTR);
  // -1: the program ignores SIGCHLD, or has waited for all its children itself.
  return waited == pid ? status : -1;
}

}  // namespace kiln
