// Tracks the TCP connections: their number, their addresses, and which have authenticated. Callers
// without credentials can therefore neither exhaust the descriptors, which the token file and the
// connections to kilnd need, nor keep others from connecting.
//
// A connection is a stranger until a call with credentials arrives on it. Strangers are closed
// after a while. At the limit of connections, the oldest stranger of the address with most
// strangers is closed to admit a new connection.
//
// gRPC owns the descriptors and does not report when it closes one. A socket is identified by its
// inode, so that a reused descriptor is not mistaken for it. Thread-safe.
#ifndef KILN_SERVER_GRPC_FRONT_GUESTS_H_
#define KILN_SERVER_GRPC_FRONT_GUESTS_H_

#include <netinet/in.h>
#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln {

class Guests {
 public:
  struct Options {
    int most = 512;  // per address: half of it
    absl::Duration strangers_limit = absl::Seconds(10);
  };
  explicit Guests(const Options& options) : options_(options) {}

  // Whether the connection that was accepted as `fd` may stay. If not, the caller closes it.
  bool Admit(int fd);

  // In all of these `peer` is gRPC's name of the other end.
  //
  // A call with credentials arrived. Nearly free while there are no strangers.
  bool has_strangers() const { return strangers_ > 0; }
  void Know(absl::string_view peer);
  // A stranger that may stay because it watches our health: it is closed only to make room.
  void LetWait(absl::string_view peer);
  // Closes the connection, with all its calls and unsent bytes.
  void CutOff(absl::string_view peer);

  // Closes strangers whose time is over. Returns the number of open connections.
  int Sweep();

 private:
  struct Peer {
    in6_addr address = {};
    in_port_t port = 0;
    bool operator==(const Peer& other) const;
    // The address; for IPv6 its /64 network, all 2^64 addresses of which belong to one host.
    std::string Host() const;
  };
  enum Standing { kStranger, kKnown, kClosing };
  struct Guest {
    int fd;
    ino_t inode;
    Peer peer;
    absl::Time since;
    Standing is = kStranger;
    bool may_wait = false;
  };

  static Peer PeerOf(int fd);
  static bool Parse(absl::string_view text, Peer* peer);
  static void Shut(const Guest& guest);
  Guest* Find(absl::string_view peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFullFor(const std::string& host) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Closes a stranger's connection: of `host`, or of the host with most. False: there is none.
  bool MakeRoom(const std::string* host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Guest* guest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Become(Standing standing, Guest* guest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  absl::Mutex mutex_;
  std::vector<Guest> guests_ ABSL_GUARDED_BY(mutex_);  // oldest first
  int closing_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<int> strangers_{0};
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_GUESTS_H_
