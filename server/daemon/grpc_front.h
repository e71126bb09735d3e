// The gRPC side of the daemon: a process of its own (service/), which turns
// calls into frames on the local socket. So gRPC's 57 libraries and its threads
// cost the daemon neither start-up time nor memory, and there is one handler.
#ifndef KILN_SERVER_DAEMON_GRPC_FRONT_H_
#define KILN_SERVER_DAEMON_GRPC_FRONT_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace kiln {

class GrpcFront {
 public:
  GrpcFront(std::string program, std::string socket_path)
      : program_(std::move(program)), socket_path_(std::move(socket_path)) {}
  ~GrpcFront() { Stop(); }

  // Starts the process; to be called from a thread that outlives it.
  absl::Status Start(const std::string& address);
  // Ends it; calls that run are cancelled.
  void Stop();

 private:
  const std::string program_;
  const std::string socket_path_;
  pid_t pid_ = -1;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_GRPC_FRONT_H_
