// The listening TCP sockets of one HOST:PORT. kilnd creates them and its fronts accept on them. A
// restarted front or a successor continues with the same sockets, whose queues hold new connections
// meanwhile; none is refused.
#ifndef KILN_SERVER_DAEMON_FRONTS_LISTENER_H_
#define KILN_SERVER_DAEMON_FRONTS_LISTENER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kiln {

// Not thread-safe.
class Listener {
 public:
  // `address`: HOST:PORT, [V6]:PORT; "": none. Takes from `given` (sockets of a predecessor or a
  // service manager) those of the same port.
  Listener(std::string address, std::vector<int>* given);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens on all of the host's addresses that this machine has. Does nothing if it already has
  // sockets. The error names the address.
  absl::Status Open();

  const std::string& address() const { return address_; }
  const std::vector<int>& fds() const { return fds_; }

 private:
  const std::string address_;
  std::vector<int> fds_;
};

// The listening sockets of a service manager (sd_listen_fds(3): $LISTEN_FDS), unix sockets
// included; unsets its variables. Call before starting threads.
std::vector<int> SocketsOfManager();

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_FRONTS_LISTENER_H_
