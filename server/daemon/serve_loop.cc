#include "server/daemon/serve_loop.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "server/daemon/single_instance.h"
#include "server/observe/log.h"

namespace kiln {

void AcceptAll(int listen_fd, Connections* connections) {
  while (true) {
    const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      // A client that gave up before we accepted it is no reason to stop accepting.
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // No descriptors left: new connections wait until others close.
      if (errno == EMFILE || errno == ENFILE) absl::SleepFor(absl::Milliseconds(20));
      return;
    }
    // The directory's rights already keep others out. This also holds where they are not enforced.
    const absl::Status peer = CheckPeer(fd);
    if (peer.ok()) {
      connections->Serve(fd);
    } else {
      Log("refused: ", peer.message());
      close(fd);
    }
  }
}

void AcceptBriefly(int listen_fd, Connections* connections) {
  constexpr int kMilliseconds = 10;
  pollfd entry = {listen_fd, POLLIN, 0};
  if (poll(&entry, 1, kMilliseconds) > 0) AcceptAll(listen_fd, connections);
}

Ending ServeUntilStopped(int listen_fd, const StopSignal& stop, absl::Duration idle_exit,
                         Connections* connections) {
  while (true) {
    int timeout_ms = -1;
    if (idle_exit > absl::ZeroDuration()) {
      // Computed anew after each wake-up: requests move the end without waking this thread.
      const absl::Duration left = connections->last_request() + idle_exit - SteadyNow();
      if (left <= absl::ZeroDuration()) return {"idle"};
      timeout_ms =
          static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, INT_MAX));
    }
    pollfd fds[3] = {
        {listen_fd, POLLIN, 0}, {stop.signal_fd(), POLLIN, 0}, {stop.event_fd(), POLLIN, 0}};
    if (poll(fds, 3, timeout_ms) < 0 && errno != EINTR) return {"poll failed"};
    if (fds[0].revents != 0) AcceptAll(listen_fd, connections);
    if (fds[1].revents != 0) {
      const pid_t successor = stop.Successor();
      return {successor != 0 ? "another takes over" : "signal", successor};
    }
    if (fds[2].revents != 0) return {"asked to"};
  }
}

}  // namespace kiln
