// The clients on the local socket: bounded in number, one request at a time on a connection,
// replies in order.
//
// A thread waits for all of them (turns.h), and answers at once what needs no waiting: hits in
// memory. It steps aside, and another one waits for the others, before all else: a message or a
// reply that does not come or go in one piece, a quota that is used up, a file, a compilation. So
// a connection that is idle costs a descriptor, and a request that lasts a thread.
//
// A client that hangs up while its request runs cancels it (shutting down its
// writing half counts as hanging up). A client that sends what is no frame is
// told so, with id 0, and cut off; so is one that begins a message and does not go on.
// No more than 64 KiB of a message are read before its sender's quota has room (quotas.h).
#ifndef KILN_SERVER_DAEMON_CONNECTIONS_H_
#define KILN_SERVER_DAEMON_CONNECTIONS_H_

#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "lang/clock.h"
#include "lang/framing.h"
#include "server/daemon/handler.h"
#include "server/daemon/poller.h"
#include "server/daemon/quotas.h"
#include "server/daemon/turns.h"

namespace kiln {

class Connections {
 public:
  // `handler` and the quotas, of what is being read and of what is to be taken, outlive this.
  Connections(Handler* handler, Quotas* requests, Quotas* replies, int limit);
  // Drains without patience.
  ~Connections();

  // Serves the client at `fd`, and owns it. Over the limit it is told so.
  void Serve(int fd);

  // When the last request ended that was more than a look at statistics; now if one runs.
  absl::Time last_request() const;

  struct Load {
    size_t connections;
    size_t running;  // requests
  };
  Load load() const;

  // Lets running requests end for `patience`, then cancels them; closes all
  // connections and waits until nobody deals with them.
  void Drain(absl::Duration patience);

 private:
  struct Connection;
  using List = std::list<Connection>;

  // An event of `connection`, which is this thread's until it is waited for again, or closed.
  void Deal(Connection* connection, Turn* turn);
  // Reads one request and answers it. False: nothing more is to be read from this client.
  // `used`: the request was one that keeps an idle daemon from ending.
  bool Exchange(Connection* connection, bool* used);
  // The request that begins with `bytes`; what comes after it is left in `unread`.
  absl::StatusOr<Frame> Receive(Connection* connection, absl::string_view bytes,
                                Quotas::Hold* hold);
  // Room for a reply of so many bytes, until it is taken.
  absl::Status TakeReply(Connection* connection, size_t bytes, Quotas::Hold* hold);
  // The lock that these take also hands all of a connection from one thread to the next.
  // False: it is to end instead.
  bool Begin(Connection* connection, Turn* turn);
  // The end of a request. True: it was the last one for now, and another event is waited for.
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
  Turns turns_;  // ends first: its threads use all of the above
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_CONNECTIONS_H_
