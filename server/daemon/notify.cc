#include "server/daemon/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/observe/log.h"

namespace kiln {

void NotifyManager(absl::string_view state) {
  const char* path = getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // '@' denotes the leading zero byte of an abstract socket's name.
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  const size_t length = strlen(path);
  if (length >= sizeof address.sun_path) return;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
             size) < 0) {
    Log("cannot tell ", path, ": ", strerror(errno));
  }
  close(fd);
}

}  // namespace kiln
