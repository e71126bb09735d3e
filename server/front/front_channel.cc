#include "server/front/front_channel.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace kiln {
namespace {

// One socket for each address of the configured name; the kernel's own limit is 253.
constexpr size_t kMaxFds = 16;

struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(kMaxFds * sizeof(int))];
};

sockaddr_storage AddressOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) address = {};
  return address;
}

}  // namespace

// A message is one byte, since descriptors cannot be sent without data.
absl::Status SendWord(int socket, Word word, const std::vector<int>& fds) {
  char byte = static_cast<char>(word);
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control = {};
  if (const size_t count = std::min(fds.size(), kMaxFds); count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds.data(), count * sizeof(int));
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "sendmsg");
  }
  return absl::OkStatus();
}

Message ReceiveWord(int socket) {
  char byte = 0;
  iovec part = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got;
  // CLOEXEC at once: another thread may start a child between two calls.
  while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  Message received;
  // The end of the channel gives a message without a word.
  if (got != 1) return received;
  for (const Word word : {Word::kGeneration, Word::kServe, Word::kDrain}) {
    if (byte == static_cast<char>(word)) received.word = word;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    received.fds.resize(count);
    memcpy(received.fds.data(), CMSG_DATA(header), count * sizeof(int));
  }
  return received;
}

bool ListensOnLoopback(int fd) {
  const sockaddr_storage address = AddressOf(fd);
  if (address.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
  }
  return address.ss_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr) >> 24 == 127;
}

bool IsIpv4(int fd) { return AddressOf(fd).ss_family == AF_INET; }

int PortOf(int fd) {
  const sockaddr_storage address = AddressOf(fd);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return address.ss_family == AF_INET
             ? ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port)
             : 0;
}

}  // namespace kiln
