// Sockets that wait for their next message, as events (turns.h). What is told of is not told
// of again until it is armed: so only one thread deals with a socket.
#ifndef KILN_SERVER_DAEMON_POLLER_H_
#define KILN_SERVER_DAEMON_POLLER_H_

#include "absl/status/status.h"
#include "server/daemon/turns.h"

namespace kiln {

// Thread-safe.
class Poller final : public Events {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;

  // Waits for `fd`, too: `tag` happens once there is something to read, or the peer hangs up.
  // Closing `fd` ends that; to be done by who deals with the event.
  absl::Status Add(int fd, Tag* tag);
  // Waits for it again, after it happened. From then on it may happen on another thread.
  void Arm(int fd, Tag* tag);
  // There are no more events.
  void End();

  bool Next(Tag** tag, bool* ok) override;

 private:
  const int epoll_fd_;
  const int end_fd_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_POLLER_H_
