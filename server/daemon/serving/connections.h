// Serves the clients on the local socket. Bounds their number; handles one request at a time per
// connection, and replies in order.
//
// One thread waits for events on all connections (event_loop.h) and answers memory hits at once.
// Before any blocking work it hands the event loop to another thread: a message or reply that does
// not transfer in one piece, an exhausted quota, a file, a compilation. An idle connection
// therefore costs a descriptor, and a long request costs a thread.
//
// A client that hangs up while its request runs cancels it (shutting down its writing half counts
// as hanging up). A client that sends bytes that are not a frame gets an error with id 0 and is
// disconnected. A client that begins a message and does not complete it is disconnected, too. At
// most 64 KiB of a message are read before its sender's quota has room (quotas.h).
#ifndef KILN_SERVER_DAEMON_SERVING_CONNECTIONS_H_
#define KILN_SERVER_DAEMON_SERVING_CONNECTIONS_H_

#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/wire/framing.h"
#include "server/daemon/serving/handler.h"
#include "server/events/event_loop.h"
#include "server/events/poller.h"
#include "server/front/quotas.h"

namespace kiln {

class Connections {
 public:
  // `handler` and the quotas, of requests being read and of undelivered replies, outlive this.
  Connections(Handler* handler, Quotas* requests, Quotas* replies, int limit);
  // Drains without waiting.
  ~Connections();

  // Serves the client at `fd`, and owns it. Above the limit the client gets an error.
  void Serve(int fd);

  // When the last request ended that was more than a look at statistics; now if one runs.
  absl::Time last_request() const;

  struct Load {
    size_t connections;
    size_t running;  // requests
  };
  Load load() const;

  // Serves the requests that have arrived, up to `patience`, then cancels them without a reply.
  // Closes all connections and waits until no thread uses them. A client cannot send further
  // requests: its write fails.
  void Drain(absl::Duration patience);

 private:
  struct Connection;
  using List = std::list<Connection>;

  // Handles an event of `connection`. This thread owns it until it is armed again, or closed.
  void Deal(Connection* connection, LoopThread* thread);
  // Reads one request and answers it. False: no further request is read from this client. `used`:
  // the request keeps an idle daemon from exiting.
  bool Exchange(Connection* connection, bool* used);
  // Receives the request that begins with `bytes`; bytes after it stay in `unread`.
  absl::StatusOr<Frame> Receive(Connection* connection, absl::string_view bytes,
                                Quotas::Hold* hold);
  // Reserves room for a reply of so many bytes, until it is delivered.
  absl::Status TakeReply(Connection* connection, size_t bytes, Quotas::Hold* hold);
  // The lock that Begin and End take also passes the connection's state from one thread to the
  // next. False: the connection must close instead, since Drain lost its patience.
  bool Begin(Connection* connection, LoopThread* thread);
  // Ends a request. True: it was the last one for now, and the connection waits for another event.
  // False although it should `wait`: it was the last one, or the next one is here already.
  bool End(Connection* connection, bool used, bool wait);
  void Close(Connection* connection);
  bool aborting() const;

  Handler* const handler_;
  Quotas* const requests_;
  Quotas* const replies_;
  const int limit_;
  mutable absl::Mutex mutex_;
  List connections_ ABSL_GUARDED_BY(mutex_);
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool aborting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time last_request_ ABSL_GUARDED_BY(mutex_) = SteadyNow();
  Poller poller_;
  EventLoop loop_;  // ends first: its threads use all of the above
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVING_CONNECTIONS_H_
