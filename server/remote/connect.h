// Stream sockets to an address of the configuration: HOST:PORT, [V6]:PORT, or the
// path of a unix socket.
#ifndef KILN_SERVER_REMOTE_CONNECT_H_
#define KILN_SERVER_REMOTE_CONNECT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kiln {

// InvalidArgument, with the permitted forms, if `address` has none of them.
absl::Status CheckAddress(const std::string& address);

// The host of HOST:PORT or [V6]:PORT; empty for a path.
std::string HostOf(const std::string& address);

// A connected, non-blocking descriptor; the caller owns it.
absl::StatusOr<int> ConnectTo(const std::string& address, absl::Time deadline);

// Waits until `fd` has one of `events` (poll.h); DeadlineExceeded.
absl::Status Await(int fd, short events, absl::Time deadline);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_CONNECT_H_
