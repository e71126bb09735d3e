// The calls of proto/service.proto's Kiln over gRPC: who calls is found out, and the
// message passed to the daemon as it is.
//
// A look-up that was answered before is answered from what is kept (replies.h). A call that
// the daemon answers at once is answered by the thread that waited for it; one
// that takes longer (a compilation) hands its turn to another thread (turns.h).
#ifndef KILN_SERVER_DAEMON_SERVICE_CALLS_H_
#define KILN_SERVER_DAEMON_SERVICE_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>

#include "proto/service.grpc.pb.h"
#include "server/daemon/service/bridge.h"
#include "server/daemon/service/callers.h"
#include "server/daemon/service/guests.h"
#include "server/daemon/service/health.h"
#include "server/daemon/service/outbox.h"
#include "server/daemon/service/replies.h"
#include "server/daemon/turns.h"

namespace kiln {

// What a request over gRPC may have, in bytes.
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

  // Before the server is made.
  void Register(grpc::ServerBuilder* builder);
  // After that.
  void Start();
  // What callers who ask after our health hear.
  void SetServing(bool serving) { health_.SetServing(serving); }
  // Before the server is shut down.
  void End() { health_.End(); }
  // After it was shut down, and before it is gone: waits until all calls have ended. To be
  // called by whoever called Start.
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
  std::optional<Turns> turns_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_CALLS_H_
