// Calls that last, and their replies on the way to callers. A call that does not end at once
// takes one of our threads, of which a caller may have only so many. gRPC holds a reply until the
// caller's window lets it go, and a caller that does not read keeps it shut: so what is on its way
// counts against its caller, all together are bounded, and who has not taken a reply in time is cut
// off.
//
// Thread-safe.
#ifndef KILN_SERVER_DAEMON_SERVICE_OUTBOX_H_
#define KILN_SERVER_DAEMON_SERVICE_OUTBOX_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/daemon/quotas.h"
#include "server/daemon/service/callers.h"
#include "server/daemon/service/guests.h"

namespace kiln {

class Outbox {
 public:
  // `guests` is not owned.
  explicit Outbox(Guests* guests) : guests_(guests) {}

  // One call's reply. Not thread-safe; ends before the outbox and the call's context.
  class Letter {
   public:
    explicit Letter(Outbox* outbox) : outbox_(outbox) {}
    ~Letter() { Taken(); }
    Letter(const Letter&) = delete;

    // The call will take a thread for a while. ResourceExhausted, part "quota": its caller has
    // as many as it may.
    absl::Status Linger(const Identity& caller);
    // Room for a reply of so many bytes. ResourceExhausted, part "quota": its caller has too
    // much on its way already, or all together have.
    absl::Status Reserve(const Identity& caller, size_t bytes);
    // gRPC is about to get it.
    void Post(grpc::ServerContext* context);
    // gRPC holds it no more.
    void Taken();

   private:
    friend class Outbox;
    Quotas::Account& AccountOf(const Identity& caller);

    Outbox* const outbox_;
    std::shared_ptr<Quotas::Account> account_;
    Quotas::Hold hold_;                       // of account_
    grpc::ServerContext* context_ = nullptr;  // set while it is among the outbox's
    absl::Time posted_;
    Letter* before_ = nullptr;
    Letter* after_ = nullptr;
  };

  // Cuts off those who have not taken a reply in time.
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

#endif  // KILN_SERVER_DAEMON_SERVICE_OUTBOX_H_
