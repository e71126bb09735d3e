// What ends the daemon: signals, and requests of clients.
#ifndef KILN_SERVER_DAEMON_STOP_SIGNAL_H_
#define KILN_SERVER_DAEMON_STOP_SIGNAL_H_

#include <sys/types.h>

namespace kiln {

// Wakes the main thread from any other, and by SIGTERM, SIGINT and SIGHUP. SIGUSR2 says that
// a successor waits (single_instance.h). Make one before any thread starts.
class StopSignal {
 public:
  StopSignal();
  // Thread-safe.
  void Raise();
  // Call when the signal's descriptor is readable. Returns the process that wants to take over, 0
  // for another signal.
  pid_t Successor() const;
  int signal_fd() const { return signal_fd_; }
  int event_fd() const { return event_fd_; }

 private:
  int signal_fd_;
  int event_fd_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_STOP_SIGNAL_H_
