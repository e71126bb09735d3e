// The connections of the web front: the time limits of each, and which one is closed to admit a new
// one. A probe is answered even while others hold as many connections as they can.
#ifndef KILN_SERVER_WEB_FRONT_VISITORS_H_
#define KILN_SERVER_WEB_FRONT_VISITORS_H_

#include <sys/socket.h>

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace kiln {

// Thread-safe. Identifies a connection by its descriptor, which must stay open until Left.
class Visitors {
 public:
  struct Limits {
    size_t connections = 64;
    size_t of_one_address = 32;  // an IPv4 address, or an IPv6 network of 64 bits
    // For a whole request, from the connection's start or the end of the previous reply.
    absl::Duration request = absl::Seconds(5);
    absl::Duration reply = absl::Seconds(30);  // for the client to read a reply
  };
  Visitors() = default;
  explicit Visitors(const Limits& limits) : limits_(limits) {}

  // Adds a connection; each is served. Above a limit, shuts down the connection that has waited
  // longest for its peer: one of the same address, if that has too many.
  void Came(int fd, const sockaddr* peer, absl::Time now = SteadyNow());
  // A request is complete: the connection is not shut down until its answer is ready.
  void Asked(int fd);
  void Answered(int fd, absl::Time now = SteadyNow());
  // The peer has the reply, and may send the next request.
  void Served(int fd, absl::Time now = SteadyNow());
  void Left(int fd);

  // Shuts down connections whose peers are too slow.
  void HangUpOnSlow(absl::Time now = SteadyNow());
  // Requests being answered, and replies being sent.
  size_t busy() const;

 private:
  enum State { kAsking, kWaiting, kTaking };  // of the peer
  struct Visitor {
    std::string address;
    State state = kAsking;
    absl::Time since;
  };

  size_t CountOf(const std::string& address) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The oldest connection that waits for its peer, of `address` if given.
  void Evict(const std::string* address, int newcomer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enter(int fd, State state, absl::Time now);

  const Limits limits_;
  mutable absl::Mutex mutex_;
  std::map<int, Visitor> visitors_ ABSL_GUARDED_BY(mutex_);  // except those shut down
};

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_VISITORS_H_
