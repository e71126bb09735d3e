#include "server/daemon/fronts/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/front/front_channel.h"

namespace kiln {
namespace {

// Connections that wait while a front restarts.
constexpr int kBacklog = 1024;
constexpr int kFirstManagedFd = 3;
constexpr int kMaxManagedFds = 16;

// The socket, or -1 with errno set.
int ListenOn(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int one = 1;
  // Connections of an earlier daemon in TIME_WAIT would otherwise block the port for a minute.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  // A name with addresses of both families has a socket for each.
  if (address.ai_family == AF_INET6 && address.ai_next != nullptr) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  }
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

Listener::Listener(std::string address, std::vector<int>* given) : address_(std::move(address)) {
  int port = 0;
  const size_t colon = address_.rfind(':');
  if (colon == std::string::npos || !absl::SimpleAtoi(address_.substr(colon + 1), &port)) return;
  std::vector<int> others;
  // By port: the manager or the predecessor chose the address, perhaps by another name.
  for (const int fd : *given) (port != 0 && PortOf(fd) == port ? fds_ : others).push_back(fd);
  *given = std::move(others);
}

Listener::~Listener() {
  for (const int fd : fds_) close(fd);
}

absl::Status Listener::Open() {
  if (!fds_.empty()) return absl::OkStatus();
  const size_t colon = address_.rfind(':');
  std::string host = address_.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int error = getaddrinfo(host.c_str(), address_.substr(colon + 1).c_str(), &hints, &raw);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address_, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, freeaddrinfo);
  int why = 0;
  for (const addrinfo* next = raw; next != nullptr; next = next->ai_next) {
    if (const int fd = ListenOn(*next); fd >= 0) {
      fds_.push_back(fd);
    } else if (why == 0 || errno == EADDRINUSE) {
      why = errno;
    }
  }
  // Clients cannot use an address that the machine lacks (often ::1), so it needs no socket.
  if (!fds_.empty() && why != EADDRINUSE) return absl::OkStatus();
  for (const int fd : fds_) close(fd);
  fds_.clear();
  return absl::ErrnoToStatus(why, absl::StrCat("cannot listen on ", address_));
}

std::vector<int> SocketsOfManager() {
  std::vector<int> fds;
  const char* pid = getenv("LISTEN_PID");
  const char* count = getenv("LISTEN_FDS");
  int process = 0, sockets = 0;
  if (pid != nullptr && count != nullptr && absl::SimpleAtoi(pid, &process) &&
      // LISTEN_PID is checked because the variables are inherited by all descendants of a service.
      process == getpid() && absl::SimpleAtoi(count, &sockets)) {
    for (int fd = kFirstManagedFd; fd < kFirstManagedFd + sockets && sockets <= kMaxManagedFds;
         ++fd) {
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      fds.push_back(fd);
    }
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  return fds;
}

}  // namespace kiln
