// Sockets that wait for their next message, as events (event_loop.h). A socket's event is reported
// once until it is armed again, so only one thread handles a socket at a time.
#ifndef KILN_SERVER_EVENTS_POLLER_H_
#define KILN_SERVER_EVENTS_POLLER_H_

#include "absl/status/status.h"
#include "server/events/event_loop.h"

namespace kiln {

// Thread-safe.
class Poller final : public Events {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;

  // Also waits for `fd`: `tag` happens once there is something to read, or the peer hangs up.
  // Closing `fd` ends that; only the thread that handles the event may close it.
  absl::Status Add(int fd, Tag* tag);
  // Waits for it again, after an event. The next event may happen on another thread.
  void Arm(int fd, Tag* tag);
  // Ends the stream of events.
  void End();

  bool Next(Tag** tag, bool* ok) override;

 private:
  const int epoll_fd_;
  const int end_fd_;
};

}  // namespace kiln

#endif  // KILN_SERVER_EVENTS_POLLER_H_
