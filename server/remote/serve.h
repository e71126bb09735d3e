// kilnd-remote's side of its conversation with kilnd (proto/remote.proto).
#ifndef KILN_SERVER_REMOTE_SERVE_H_
#define KILN_SERVER_REMOTE_SERVE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace kiln {

// Answers frames on `fd`, many at a time, until it closes; then releases all leases. OK at a clean
// end. Threads may still run then: exit the process.
absl::Status ServeRemote(int fd, const std::function<void(const std::string&)>& log);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_SERVE_H_
