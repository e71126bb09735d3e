// Long calls and undelivered replies. A call that does not end at once takes one of our threads,
// whose number per caller is bounded. gRPC holds a reply until the caller's window opens, and a
// caller that does not read keeps it closed. Undelivered bytes therefore count against their caller
// and have a common bound; a caller that does not read a reply in time is disconnected.
//
// Thread-safe.
#ifndef KILN_SERVER_GRPC_FRONT_OUTBOX_H_
#define KILN_SERVER_GRPC_FRONT_OUTBOX_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/front/quotas.h"
#include "server/grpc_front/callers.h"
#include "server/grpc_front/guests.h"

namespace kiln {

class Outbox {
 public:
  // `guests` is not owned.
  explicit Outbox(Guests* guests) : guests_(guests) {}

  // One call's reply. Not thread-safe; destroyed before the outbox and the call's context.
  class Letter {
   public:
    explicit Letter(Outbox* outbox) : outbox_(outbox) {}
    ~Letter() { Taken(); }
    Letter(const Letter&) = delete;

    // Reserves a thread for a long call. ResourceExhausted, part "quota": the caller has as many as
    // it may.
    absl::Status Linger(const Identity& caller);
    // Reserves room for a reply of so many bytes. ResourceExhausted, part "quota": too many
    // undelivered bytes of the caller, or in all.
    absl::Status Reserve(const Identity& caller, size_t bytes);
    // Call just before gRPC gets the reply.
    void Post(grpc::ServerContext* context);
    // Call when gRPC has sent it.
    void Taken();

   private:
    friend class Outbox;
    Quotas::Account& AccountOf(const Identity& caller);

    Outbox* const outbox_;
    std::shared_ptr<Quotas::Account> account_;
    Quotas::Hold hold_;                       // of account_
    grpc::ServerContext* context_ = nullptr;  // set while it is in the outbox's list
    absl::Time posted_;
    Letter* before_ = nullptr;
    Letter* after_ = nullptr;
  };

  // Disconnects callers that have not read a reply in time.
  void Sweep();

 private:
  Guests* const guests_;
  Quotas quotas_{QuotasOfReplies()};
  absl::Mutex mutex_;
  Letter* first_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the oldest
  Letter* last_ ABSL_GUARDED_BY(mutex_) = nullptr;

  static Quotas::Options QuotasOfReplies();
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_OUTBOX_H_
