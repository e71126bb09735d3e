#include "server/grpc_front/acceptor.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/front/front_channel.h"

namespace kiln {

Acceptor::Acceptor(std::unique_ptr<Grpc> grpc, std::vector<int> sockets, Guests* guests)
    : grpc_(std::move(grpc)),
      guests_(guests),
      sockets_(std::move(sockets)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Acceptor::Start() {
  thread_ = std::thread([this] { Work(); });
  // After the thread has started: kilnd then counts this front as serving.
  SendWord(kFrontChannelFd, Word::kServe).IgnoreError();
}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  if (write(wake_fd_, &one, sizeof one) < 0) return;
  thread_.join();
}

void Acceptor::Work() {
  std::vector<pollfd> entries = {{wake_fd_, POLLIN, 0}, {kFrontChannelFd, POLLIN, 0}};
  for (const int fd : sockets_) entries.push_back({fd, POLLIN, 0});
  while (!let_go_) {
    if (poll(entries.data(), entries.size(), -1) < 0) continue;
    // First: Stop has been called, and nothing else matters.
    if (entries[0].revents != 0) break;
    if (entries[1].revents != 0) {
      // kilnd has exited: there is no daemon to serve for, and another may need our port.
      if (ReceiveWord(kFrontChannelFd).word != Word::kDrain) _exit(1);
      let_go_ = true;
    }
    for (size_t i = 2; i < entries.size(); ++i) {
      if (entries[i].revents != 0) AcceptAll(entries[i].fd);
    }
  }
  Close();
}

void Acceptor::AcceptAll(int socket) {
  while (true) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = socket;
    connection.fd = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection.fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // No descriptors left: new connections wait until others close.
      if (errno == EMFILE || errno == ENFILE) absl::SleepFor(absl::Milliseconds(20));
      return;
    }
    // Before gRPC sees it: a connection that is refused costs no TLS handshake.
    if (!guests_->Admit(connection.fd)) {
      close(connection.fd);
      continue;
    }
    const int one = 1;
    // Sockets that gRPC did not accept itself lack its options.
    setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    grpc_->HandleNewConnection(&connection);
  }
}

void Acceptor::Close() {
  for (const int fd : sockets_) close(fd);
  sockets_.clear();
}

}  // namespace kiln
