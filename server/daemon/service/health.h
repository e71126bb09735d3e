// grpc.health.v1.Health. gRPC has one itself, which brings threads of its own: every call of
// ours would pass through them.
#ifndef KILN_SERVER_DAEMON_SERVICE_HEALTH_H_
#define KILN_SERVER_DAEMON_SERVICE_HEALTH_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>

#include "server/daemon/service/guests.h"

namespace kiln {

class HealthCall;

// Answers Check and Watch for the server as a whole ("") and for kiln.proto.Kiln; a Watch hears
// of a change within a second. Refuses, as the last service of all, methods that nobody knows.
class Health {
 public:
  // `guests` is not owned.
  explicit Health(Guests* guests) : guests_(guests) {}

  // Before the server is made.
  void Register(grpc::ServerBuilder* builder) { builder->RegisterAsyncGenericService(&service_); }
  // After that; the queue's tags are Tags (turns.h).
  void Start(grpc::ServerCompletionQueue* queue);
  // It serves at first.
  void SetServing(bool serving) { serving_ = serving; }
  // It serves no more: who watches is told so and let go.
  void End() {
    serving_ = false;
    ending_ = true;
  }

 private:
  friend class HealthCall;
  Guests* const guests_;
  grpc::AsyncGenericService service_;
  std::atomic<bool> serving_{true};
  std::atomic<bool> ending_{false};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_HEALTH_H_
