#include "server/remote/connect.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

struct HostPort {
  std::string host, port;
};

bool Split(const std::string& address, HostPort* out) {
  // The last one: an IPv6 address has colons of its own, in brackets.
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return false;
  }
  out->port = address.substr(colon + 1);
  out->host = address.substr(0, colon);
  if (out->host.front() == '[') {
    if (out->host.back() != ']' || out->host.size() < 3) return false;
    out->host = out->host.substr(1, out->host.size() - 2);
    return true;
  }
  return out->host.find(':') == std::string::npos;  // IPv6 addresses need brackets
}

absl::Status Unreachable(const std::string& address, const char* why) {
  return absl::UnavailableError(absl::StrCat("cannot connect to ", address, ": ", why));
}

absl::StatusOr<int> ConnectSocket(const std::string& address, const sockaddr* to, socklen_t size,
                                  absl::Time deadline) {
  const int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Unreachable(address, std::strerror(errno));
  int error = connect(fd, to, size) == 0 ? 0 : errno;
  // Non-blocking, because connect itself has no time limit.
  if (error == EINPROGRESS) {
    const absl::Status ready = Await(fd, POLLOUT, deadline);
    if (!ready.ok()) {
      close(fd);
      return Unreachable(address, "no answer in time");
    }
    socklen_t length = sizeof error;
    // Writable means "decided", not "connected".
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error != 0) {
    close(fd);
    return Unreachable(address, std::strerror(error));
  }
  if (to->sa_family != AF_UNIX) {
    const int on = 1;
    // Requests are small and waited for; Nagle's algorithm would hold them back.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // Detects idle connections whose server or route has gone.
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  return fd;
}

}  // namespace

absl::Status CheckAddress(const std::string& address) {
  HostPort parts;
  if (address.front() == '/') {
    // The kernel's limit; a longer path would be cut to that of another socket.
    if (address.size() < sizeof(sockaddr_un::sun_path)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is too long: ", address));
  }
  if (Split(address, &parts)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", address, "': expected HOST:PORT, [V6]:PORT or the absolute path of a socket"));
}

std::string HostOf(const std::string& address) {
  HostPort parts;
  return address.front() != '/' && Split(address, &parts) ? parts.host : "";
}

absl::StatusOr<int> ConnectTo(const std::string& address, absl::Time deadline) {
  RETURN_IF_ERROR(CheckAddress(address));
  if (address.front() == '/') {
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address.data(), address.size());
    return ConnectSocket(address, reinterpret_cast<sockaddr*>(&to), sizeof to, deadline);
  }
  HostPort parts;
  Split(address, &parts);
  addrinfo hints = {};
  // One result per address instead of one for each type of socket.
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  // Blocks beyond the deadline if the name server does not answer; callers are threads of a pool.
  if (const int error = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &list)) {
    return Unreachable(address, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  absl::StatusOr<int> fd = Unreachable(address, "no address");
  // A name may have an address that this machine cannot reach, such as IPv6 without a route.
  for (const addrinfo* at = list; at != nullptr && !fd.ok(); at = at->ai_next) {
    fd = ConnectSocket(address, at->ai_addr, at->ai_addrlen, deadline);
  }
  return fd;
}

absl::Status Await(int fd, short events, absl::Time deadline) {
  while (true) {
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no answer in time");
    pollfd entry = {fd, events, 0};
    const int timeout_ms =
        // Rounded up: with 0 the loop would spin in the last millisecond.
        static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, INT_MAX));
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
  }
}

}  // namespace kiln
