// Sends requests to the daemon over its local socket. Thread-safe; each call makes a connection of
// its own, since calls are rare.
#ifndef KILN_SERVER_WEB_FRONT_DAEMON_LINK_H_
#define KILN_SERVER_WEB_FRONT_DAEMON_LINK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/wire/framing.h"
#include "google/protobuf/message_lite.h"

namespace kiln {

class DaemonLink {
 public:
  explicit DaemonLink(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  // Greets, sends the request and reads the reply. Unavailable: the daemon does not run, or is
  // exiting.
  absl::Status Call(FrameType type, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply,
                    absl::Duration patience = absl::Seconds(5)) const;

 private:
  const std::string socket_path_;
};

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_DAEMON_LINK_H_
