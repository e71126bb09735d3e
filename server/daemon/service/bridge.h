// A call to the daemon over its local socket, made for a caller elsewhere.
#ifndef KILN_SERVER_DAEMON_SERVICE_BRIDGE_H_
#define KILN_SERVER_DAEMON_SERVICE_BRIDGE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/message_lite.h"
#include "lang/framing.h"

namespace kiln {

// Keeps greeted connections for reuse. Thread-safe.
class Bridge {
 public:
  explicit Bridge(std::string socket_path) : socket_path_(std::move(socket_path)) {}
  ~Bridge();

  // Sends `request` as a frame of `type` and waits for the reply, whose type is the
  // next number. `gone` is asked every now and then; a caller that is gone, or whose
  // deadline passed, hangs up on the daemon, which cancels the request.
  absl::Status Call(FrameType type, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, absl::Time deadline,
                    const std::function<bool()>& gone);

 private:
  absl::StatusOr<int> Take(absl::Time deadline);
  void GiveBack(int fd);

  const std::string socket_path_;
  absl::Mutex mutex_;
  std::vector<int> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_BRIDGE_H_
