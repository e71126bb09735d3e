// The connections over TCP: how many there are, of which addresses, and which of them have
// proved who calls. So callers without credentials can neither use up the descriptors, which
// the token file and the way to kilnd need, too, nor keep others from connecting.
//
// A connection is a stranger's until a call with credentials came over it. Strangers are cut off
// after a while; and when the connections are at a limit, the oldest stranger of the address
// that has most of them makes room for a newcomer.
//
// gRPC owns the descriptors and does not tell when it closes one: a socket is known by its
// inode, so that a descriptor's next use is not mistaken for it. Thread-safe.
#ifndef KILN_SERVER_DAEMON_SERVICE_GUESTS_H_
#define KILN_SERVER_DAEMON_SERVICE_GUESTS_H_

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
    int most = 512;  // of an address: half of it
    absl::Duration strangers_limit = absl::Seconds(10);
  };
  explicit Guests(const Options& options) : options_(options) {}

  // Whether the connection that was accepted as `fd` may stay. If not, it is the caller's to
  // close.
  bool Admit(int fd);

  // `peer` is what gRPC calls the other end, in all of these.
  //
  // A call with credentials came. Costs next to nothing while there are no strangers.
  bool has_strangers() const { return strangers_ > 0; }
  void Know(absl::string_view peer);
  // A stranger that lasts by right, as it watches our health: it is only cut off for room.
  void LetWait(absl::string_view peer);
  // Ends the connection, with all calls on it and all that is still to be sent.
  void CutOff(absl::string_view peer);

  // Cuts off strangers whose time is over. Returns how many connections are open.
  int Sweep();

 private:
  struct Peer {
    in6_addr address = {};
    in_port_t port = 0;
    bool operator==(const Peer& other) const;
    // The address; of an IPv6 one its network: whoever has one has all 2^64 of it.
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
  // Ends a stranger's connection: of `host`, or of the one that has most. False: there is none.
  bool MakeRoom(const std::string* host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Guest* guest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Become(Standing standing, Guest* guest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  absl::Mutex mutex_;
  std::vector<Guest> guests_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int closing_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<int> strangers_{0};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_GUESTS_H_
