// The main thread's work while the daemon serves: it accepts connections on the local socket.
#ifndef KILN_SERVER_DAEMON_SERVE_LOOP_H_
#define KILN_SERVER_DAEMON_SERVE_LOOP_H_

#include <sys/types.h>

#include "absl/time/time.h"
#include "server/daemon/serving/connections.h"
#include "server/daemon/stop_signal.h"

namespace kiln {

// Serves all connections that wait on the socket. Returns once there is none.
void AcceptAll(int listen_fd, Connections* connections);

// The same for at most a few milliseconds, during which a connection may come.
void AcceptBriefly(int listen_fd, Connections* connections);

// Why serving ended, and the successor if there is one.
struct Ending {
  const char* why;
  pid_t successor = 0;
};

// Serves until a stop request or the idle timeout; zero: there is no timeout.
Ending ServeUntilStopped(int listen_fd, const StopSignal& stop, absl::Duration idle_exit,
                         Connections* connections);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVE_LOOP_H_
