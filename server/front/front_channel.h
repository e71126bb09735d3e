// The channel between kilnd and a front (front.h): a socket pair on which kilnd passes the
// listening sockets to the front, and tells it when to continue without kilnd. Each side exits when
// the other closes its end.
#ifndef KILN_SERVER_FRONT_FRONT_CHANNEL_H_
#define KILN_SERVER_FRONT_FRONT_CHANNEL_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln {

// The front's descriptor of the channel.
inline constexpr int kFrontChannelFd = 3;

enum class Word : char {
  kGeneration = 'E',  // before kServe: with the descriptor of the Generation (generation.h), if any
  kServe = 'S',       // with the listening sockets; from the front: it serves
  kDrain = 'G',       // a successor accepts; serve existing connections until they close
  kEnded = 0,         // the other side has closed
};

// Sends `word` and duplicates of `fds` (16 at most) over a unix socket.
absl::Status SendWord(int socket, Word word, const std::vector<int>& fds = {});

struct Message {
  Word word = Word::kEnded;
  std::vector<int> fds;  // owned by the caller; close-on-exec
};
// Waits for one message. Any other bytes than SendWord's count as kEnded.
Message ReceiveWord(int socket);

// Whether a listening TCP socket is bound to a loopback address.
bool ListensOnLoopback(int fd);
// Whether a socket has an IPv4 address.
bool IsIpv4(int fd);
// The port of a TCP socket; 0 if `fd` is not one.
int PortOf(int fd);

}  // namespace kiln

#endif  // KILN_SERVER_FRONT_FRONT_CHANNEL_H_
