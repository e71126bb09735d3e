// The address of a unix socket.
#ifndef KILN_COMMON_WIRE_UNIX_ADDRESS_H_
#define KILN_COMMON_WIRE_UNIX_ADDRESS_H_

#include <sys/un.h>

#include <string>

#include "absl/status/statusor.h"

namespace kiln {

// InvalidArgument for a path that does not fit. The kernel would truncate it, and two homes could
// share a socket.
absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path);

}  // namespace kiln

#endif  // KILN_COMMON_WIRE_UNIX_ADDRESS_H_
