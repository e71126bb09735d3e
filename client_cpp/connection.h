// A stream of frames to a daemon (or to a worker): one request at a time.
//
// Thread safety: one call at a time.
#ifndef KILN_CLIENT_CPP_CONNECTION_H_
#define KILN_CLIENT_CPP_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/artifact/compiler_ids.h"
#include "common/wire/framing.h"
#include "google/protobuf/message_lite.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

// While one exists, a signal that interrupts this thread's wait for an answer calls `check`; a
// status that is not OK ends the call. For languages that run signal handlers themselves, between
// two instructions.
class InterruptCheck {
 public:
  using Check = absl::Status (*)();
  explicit InterruptCheck(Check check);
  InterruptCheck(const InterruptCheck&) = delete;
  InterruptCheck& operator=(const InterruptCheck&) = delete;
  ~InterruptCheck();

 private:
  const Check outer_;
};

class Connection {
 public:
  // Connects to the unix socket `path` and greets. NotFound: no process listens. DeadlineExceeded:
  // a process listens but has not answered within `patience`. FailedPrecondition: another protocol;
  // the message names both builds. `wishes` are fields of the greeting.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path,
                                                          absl::Duration patience,
                                                          const proto::Hello& wishes = {});
  // Connects and sends the greeting without waiting; Greeted() does the rest. Takes some tens of
  // microseconds. DeadlineExceeded: the daemon accepts no more connections at the moment.
  static absl::StatusOr<std::unique_ptr<Connection>> Begin(const std::string& path);
  // For Begin's connection: whether the peer has answered within `wait` from now. Returns true
  // once; its errors are Open's.
  absl::StatusOr<bool> Greeted(absl::Duration wait);
  // Takes ownership of a connected descriptor and greets on it.
  static absl::StatusOr<std::unique_ptr<Connection>> Adopt(int fd, absl::Time deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  const proto::HelloReply& peer() const { return peer_; }
  // The peer's compiler, as its greeting states; empty if it has none. InvalidArgument: no ids.
  absl::StatusOr<CompilerIds> compiler() const;

  // Sends `request` and reads the reply. An error that the peer sent is returned unchanged, and the
  // connection stays usable; any other failure breaks it. While it waits, it calls `check` after a
  // tenth of a second and then every second; an error of `check` ends the wait.
  absl::Status Call(FrameType type, const google::protobuf::MessageLite& request,
                    FrameType reply_type, google::protobuf::MessageLite* reply, absl::Time deadline,
                    const std::function<absl::Status()>& check = nullptr);

  // No further calls are possible: the peer has gone, or the stream is out of step.
  bool broken() const { return broken_; }
  // Whether the last call sent its whole request. Otherwise the peer has not worked on it.
  bool sent() const { return sent_; }

 private:
  explicit Connection(int fd) : fd_(fd) {}
  absl::Status SayHello(absl::Time deadline, const proto::Hello& wishes);
  absl::Status CheckProtocol();
  absl::Status AwaitReadable(absl::Time deadline, const std::function<absl::Status()>& check);

  int fd_;
  uint32_t next_id_ = 1;
  bool broken_ = false;
  bool sent_ = false;
  proto::HelloReply peer_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_CONNECTION_H_
