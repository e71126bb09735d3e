// The calls of proto/service.proto's Kiln over gRPC: identifies the caller and forwards the message
// to the daemon unchanged.
//
// A repeated look-up is answered from the cache (replies.h). The thread that receives a call also
// finishes it if the daemon answers at once. A longer call (a compilation) hands the event loop to
// another thread (event_loop.h).
#ifndef KILN_SERVER_GRPC_FRONT_CALLS_H_
#define KILN_SERVER_GRPC_FRONT_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>

#include "kiln/proto/service.grpc.pb.h"
#include "server/events/event_loop.h"
#include "server/grpc_front/bridge.h"
#include "server/grpc_front/callers.h"
#include "server/grpc_front/guests.h"
#include "server/grpc_front/health.h"
#include "server/grpc_front/outbox.h"
#include "server/grpc_front/replies.h"

namespace kiln {

// Limits of a request over gRPC, in bytes.
inline constexpr int kMaxRequestBytes = 16 << 20;

// The events of a completion queue, whose tags are Tags.
class QueueEvents final : public Events {
 public:
  explicit QueueEvents(grpc::CompletionQueue* queue) : queue_(queue) {}
  bool Next(Tag** tag, bool* ok) override {
    void* address;
    if (!queue_->Next(&address, ok)) return false;
    *tag = static_cast<Tag*>(address);
    return true;
  }

 private:
  grpc::CompletionQueue* const queue_;
};

class Calls {
 public:
  using RawService = proto::Kiln::WithRawMethod_Lookup<
      proto::Kiln::WithRawMethod_Compile<proto::Kiln::WithRawMethod_Capabilities<
          proto::Kiln::WithRawMethod_Put<proto::Kiln::WithRawMethod_Stats<
              proto::Kiln::WithRawMethod_Metrics<proto::Kiln::Service>>>>>>;

  // None is owned.
  Calls(Bridge* bridge, const Callers* callers, Replies* replies, Guests* guests, Outbox* outbox)
      : bridge_(bridge),
        callers_(callers),
        replies_(replies),
        guests_(guests),
        outbox_(outbox),
        health_(guests) {}

  // Call before the server is built.
  void Register(grpc::ServerBuilder* builder);
  // Call after that.
  void Start();
  // The health that callers see.
  void SetServing(bool serving) { health_.SetServing(serving); }
  // Call before the server is shut down.
  void End() { health_.End(); }
  // Call after it was shut down, and before it is destroyed: waits until all calls have ended. Call
  // on the thread that called Start.
  void Drain();

 private:
  friend class Call;

  Bridge* const bridge_;
  const Callers* const callers_;
  Replies* const replies_;
  Guests* const guests_;
  Outbox* const outbox_;
  RawService service_;
  Health health_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::optional<QueueEvents> events_;
  std::optional<EventLoop> loop_;
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_CALLS_H_
