#include "server/daemon/detach.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace kiln {
namespace {

// Descriptors of the starter without CLOEXEC: a daemon that holds them keeps pipes and locks of the
// program open.
void CloseAllBut(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned from = 3;
  for (const int fd : keep) {
    const auto kept = static_cast<unsigned>(fd);
    if (kept > from) syscall(SYS_close_range, from, kept - 1, 0);
    from = std::max(from, kept + 1);
  }
  syscall(SYS_close_range, from, ~0u, 0);
}

// The variables of whichever program happened to start the daemon must not decide for all others.
void CleanEnvironment() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    // The last three: the output files of a sanitizer's build.
    for (const char* prefix :
         {"KILN_", "HOME=", "PATH=", "ASAN_OPTIONS=", "TSAN_OPTIONS=", "UBSAN_OPTIONS="}) {
      if (strncmp(*entry, prefix, strlen(prefix)) == 0) kept.emplace_back(*entry);
    }
  }
  clearenv();
  for (std::string& entry : kept) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
}

}  // namespace

void ForgetStartersLimits() {
  for (const auto resource :
       {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == limit.rlim_max) continue;
    // Only up to the hard limit, which is the system's and not the starter's.
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
  // The program may be pinned to few processors; the daemon serves all programs.
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
}

void Detach(const std::vector<int>& keep) {
  const pid_t child = fork();
  if (child < 0) {
    perror("kilnd: fork");
    _exit(1);
  }
  // Without destructors and buffers, which the child has too.
  if (child > 0) _exit(0);
  // Away from the terminal: Ctrl-C and hang-ups of the program's session are not the daemon's.
  setsid();
  for (int sig = 1; sig < NSIG; ++sig) signal(sig, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir("/") != 0) perror("kilnd: chdir /");
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3 && null >= 0; ++fd) dup2(null, fd);
  CloseAllBut(keep);
  CleanEnvironment();
}

}  // namespace kiln
