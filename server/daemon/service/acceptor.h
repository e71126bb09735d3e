// Who comes to the sockets that kilnd handed over (server/daemon/leash.h), given to gRPC: so
// the sockets outlive this process, and are passed on without a moment at which a caller is
// refused.
#ifndef KILN_SERVER_DAEMON_SERVICE_ACCEPTOR_H_
#define KILN_SERVER_DAEMON_SERVICE_ACCEPTOR_H_

#include <grpcpp/server_builder.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "server/daemon/service/guests.h"

namespace kiln {

class Acceptor {
 public:
  using Grpc = grpc::experimental::ExternalConnectionAcceptor;

  // `sockets` are its own from here on; `guests` outlives it and decides who may stay. The process
  // ends when kilnd does, unless kilnd let it go before.
  Acceptor(std::unique_ptr<Grpc> grpc, std::vector<int> sockets, Guests* guests);
  ~Acceptor() { Stop(); }
  Acceptor(const Acceptor&) = delete;

  // Once the server was started.
  void Start();
  // Accepts nobody from here on.
  void Stop();
  // Whether a successor accepts, and what we have is to be served to its end.
  bool let_go() const { return let_go_; }

 private:
  void Work();
  void AcceptAll(int socket);
  void Close();

  const std::unique_ptr<Grpc> grpc_;
  Guests* const guests_;
  std::vector<int> sockets_;  // the thread's, while there is one
  const int wake_fd_;
  std::atomic<bool> let_go_{false};
  std::thread thread_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_ACCEPTOR_H_
