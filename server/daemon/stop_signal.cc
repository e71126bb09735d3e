#include "server/daemon/stop_signal.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

namespace kiln {

StopSignal::StopSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int sig : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&signals, sig);
  // Before any thread starts: threads inherit the mask, and a signal must reach the descriptor
  // alone.
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  event_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file-size limit is a full disk
}

void StopSignal::Raise() {
  const uint64_t one = 1;
  if (write(event_fd_, &one, sizeof one) < 0) return;
}

pid_t StopSignal::Successor() const {
  signalfd_siginfo info;
  const bool asked =
      read(signal_fd_, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2;
  return asked ? static_cast<pid_t>(info.ssi_pid) : 0;
}

}  // namespace kiln
