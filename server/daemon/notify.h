// Notifies a service manager of the daemon's state: systemd's protocol, without its library.
#ifndef KILN_SERVER_DAEMON_NOTIFY_H_
#define KILN_SERVER_DAEMON_NOTIFY_H_

#include "absl/strings/string_view.h"

namespace kiln {

// Sends `state` ("READY=1") to $NOTIFY_SOCKET; does nothing if that is not set.
void NotifyManager(absl::string_view state);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_NOTIFY_H_
