// The clients on the local socket: a thread each, bounded in number, one
// request at a time on a connection, replies in order.
//
// A client that hangs up while its request runs cancels it (shutting down its
// writing half counts as hanging up). A client that sends what is no frame is
// told so, with id 0, and cut off; so is one that begins a message and does not go on.
// A message is not read before its sender's quota has room for it (quotas.h).
#ifndef KILN_SERVER_DAEMON_CONNECTIONS_H_
#define KILN_SERVER_DAEMON_CONNECTIONS_H_

#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "lang/clock.h"
#include "server/daemon/handler.h"
#include "server/daemon/quotas.h"

namespace kiln {

class Connections {
 public:
  // `handler` and `quotas` outlive this.
  Connections(Handler* handler, Quotas* quotas, int limit)
      : handler_(handler), quotas_(quotas), limit_(limit) {}
  // Drains without patience.
  ~Connections() { Drain(absl::ZeroDuration()); }

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
  // connections and waits for their threads.
  void Drain(absl::Duration patience);

 private:
  struct Connection {
    Connections* owner;
    int fd;
    bool busy = false;
  };
  using List = std::list<Connection>;

  static void* Thread(void* connection);
  void Talk(List::iterator self);
  // Reads one request and answers it. False: nothing more is to be read from this client.
  bool Exchange(int fd, Caller* caller, bool* used);
  // False: the connection is to end instead.
  bool Begin(List::iterator self);
  // `used`: the request was one that keeps an idle daemon from ending.
  bool End(List::iterator self, bool used);
  bool aborting() const;

  Handler* const handler_;
  Quotas* const quotas_;
  const int limit_;
  mutable absl::Mutex mutex_;
  List connections_ ABSL_GUARDED_BY(mutex_);
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool aborting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time last_request_ ABSL_GUARDED_BY(mutex_) = SteadyNow();
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_CONNECTIONS_H_
