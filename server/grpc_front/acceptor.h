// Accepts connections on the sockets that kilnd passed (server/front/front_channel.h) and gives
// them to gRPC. The sockets outlive this process and pass to a successor without refusing a caller.
#ifndef KILN_SERVER_GRPC_FRONT_ACCEPTOR_H_
#define KILN_SERVER_GRPC_FRONT_ACCEPTOR_H_

#include <grpcpp/server_builder.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "server/grpc_front/guests.h"

namespace kiln {

class Acceptor {
 public:
  using Grpc = grpc::experimental::ExternalConnectionAcceptor;

  // Takes ownership of `sockets`; `guests` outlives it and decides which connections may stay. The
  // process exits when kilnd does, unless kilnd handed off before.
  Acceptor(std::unique_ptr<Grpc> grpc, std::vector<int> sockets, Guests* guests);
  ~Acceptor() { Stop(); }
  Acceptor(const Acceptor&) = delete;

  // Call after the server was started.
  void Start();
  // Stops accepting.
  void Stop();
  // Whether a successor accepts, and this process serves its existing connections until they close.
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

#endif  // KILN_SERVER_GRPC_FRONT_ACCEPTOR_H_
