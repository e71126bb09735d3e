#include "server/worker/limits.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace kiln {
namespace {

// Lowers a limit; never raises what the starter set.
void Lower(int resource, uint64_t value) {
  rlimit now;
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(now.rlim_cur, value);
  now.rlim_max = std::min<rlim_t>(now.rlim_max, value);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

// A limit of the user's shell: what the compiler may write is for the sandbox to say.
void RaiseFileLimit() {
  rlimit now;
  if (getrlimit(RLIMIT_FSIZE, &now) != 0) return;
  now.rlim_cur = now.rlim_max;
  setrlimit(RLIMIT_FSIZE, &now);
}

void CloseRange(unsigned first, unsigned last) {
  if (first <= last) syscall(SYS_close_range, first, last, 0);
}

}  // namespace

void ConfineProcess(const Limits& limits, int keep) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that died before that call causes no signal.
  if (getppid() != parent) _exit(1);

  if (keep > 2) {
    CloseRange(3, keep - 1);
    CloseRange(keep + 1, ~0u);
  } else {
    CloseRange(3, ~0u);
  }
  RaiseFileLimit();
  Lower(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes
  if (limits.memory_bytes != 0) Lower(RLIMIT_AS, limits.memory_bytes);
#endif
  if (limits.cpu_seconds != 0) Lower(RLIMIT_CPU, limits.cpu_seconds);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a too large file fails the job, not the worker
  signal(SIGINT, SIG_IGN);   // Ctrl-C is for the client; when it exits, so do we
}

}  // namespace kiln
