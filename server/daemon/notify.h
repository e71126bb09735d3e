// Telling a service manager how we are: systemd's protocol, without its library.
#ifndef KILN_SERVER_DAEMON_NOTIFY_H_
#define KILN_SERVER_DAEMON_NOTIFY_H_

#include "absl/strings/string_view.h"

namespace kiln {

// Sends `state` ("READY=1") to $NOTIFY_SOCKET; nothing where there is none.
void NotifyManager(absl::string_view state);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_NOTIFY_H_
