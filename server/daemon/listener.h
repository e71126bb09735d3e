// The TCP sockets of one HOST:PORT. kilnd makes them and its fronts answer on them, so that a
// front that is started again, and a successor, take up where the last one was: who connects
// meanwhile waits in the sockets' own queues and is refused by nobody.
#ifndef KILN_SERVER_DAEMON_LISTENER_H_
#define KILN_SERVER_DAEMON_LISTENER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kiln {

// Not thread-safe.
class Listener {
 public:
  // `address`: HOST:PORT, [V6]:PORT; "": none. Takes from `given`, sockets that a
  // predecessor or a service manager made, those of the same port.
  Listener(std::string address, std::vector<int>* given);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens on all of the host's addresses that this machine has; nothing where sockets are
  // there already. The error names the address.
  absl::Status Open();

  const std::string& address() const { return address_; }
  const std::vector<int>& fds() const { return fds_; }

 private:
  const std::string address_;
  std::vector<int> fds_;
};

// Sockets that a service manager listens on for us (sd_listen_fds(3): $LISTEN_FDS), unix
// sockets among them; its variables are removed. To be called before there are threads.
std::vector<int> SocketsOfManager();

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_LISTENER_H_
