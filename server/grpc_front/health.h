// grpc.health.v1.Health. gRPC's own implementation starts threads, through which every call of ours
// would pass.
#ifndef KILN_SERVER_GRPC_FRONT_HEALTH_H_
#define KILN_SERVER_GRPC_FRONT_HEALTH_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>

#include "server/grpc_front/guests.h"

namespace kiln {

class HealthCall;

// Answers Check and Watch for the server as a whole ("") and for kiln.proto.Kiln; a Watch reports a
// change within a second. As the last registered service it also refuses unknown methods.
class Health {
 public:
  // `guests` is not owned.
  explicit Health(Guests* guests) : guests_(guests) {}

  // Call before the server is built.
  void Register(grpc::ServerBuilder* builder) { builder->RegisterAsyncGenericService(&service_); }
  // Call after that; the queue's tags are Tags (event_loop.h).
  void Start(grpc::ServerCompletionQueue* queue);
  // Sets whether the server serves; initially true.
  void SetServing(bool serving) { serving_ = serving; }
  // Reports that the server stops serving, and ends all Watches.
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

#endif  // KILN_SERVER_GRPC_FRONT_HEALTH_H_
