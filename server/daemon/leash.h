// The line between kilnd and a front (front.h): a socket pair on which kilnd hands over the
// sockets that the front is to answer on, and says when it is to go on without kilnd. Its
// end is the end of the one at the other side.
#ifndef KILN_SERVER_DAEMON_LEASH_H_
#define KILN_SERVER_DAEMON_LEASH_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln {

// The descriptor that a front is given.
inline constexpr int kLeashFd = 3;

enum class Word : char {
  kEdition = 'E',  // before kServe: with what Edition (edition.h) is seen by, if anything
  kServe = 'S',    // with the listening sockets; from the front: it serves
  kGoOn = 'G',     // a successor accepts; serve the connections there are to their ends
  kEnded = 0,      // the other side is gone
};

// Sends `word` and duplicates of `fds` (16 at most) over a unix socket.
absl::Status SendWord(int socket, Word word, const std::vector<int>& fds = {});

struct Message {
  Word word = Word::kEnded;
  std::vector<int> fds;  // the caller's, closed on exec
};
// Waits for one message. Anything but what SendWord sends counts as the end.
Message ReceiveWord(int socket);

// Whether a listening TCP socket is bound to a loopback address.
bool ListensOnLoopback(int fd);
// Whether a socket has an IPv4 address.
bool IsIpv4(int fd);
// The port of a TCP socket; 0 if it is none.
int PortOf(int fd);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_LEASH_H_
