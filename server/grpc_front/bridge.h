// Forwards remote callers' calls to the daemon over its local socket. Messages pass through
// unchanged, as bytes.
#ifndef KILN_SERVER_GRPC_FRONT_BRIDGE_H_
#define KILN_SERVER_GRPC_FRONT_BRIDGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/wire/framing.h"
#include "server/grpc_front/callers.h"

namespace kiln {

// Connections on which we have stated a caller's identity to the daemon, kept for the same caller's
// next call. Thread-safe.
class Bridge {
 public:
  struct Line {
    int fd = -1;
  };

  explicit Bridge(std::string socket_path) : socket_path_(std::move(socket_path)) {}
  ~Bridge();

  // `fresh`: a new connection, not a reused one.
  absl::StatusOr<Line> Take(const Identity& caller, bool fresh);
  void GiveBack(const Identity& caller, Line line);
  // Whether a connection is available; making one takes time.
  bool HasIdle(const Identity& caller);
  // Whether the daemon answers.
  bool Answers();

 private:
  absl::StatusOr<int> Greet(const proto::Caller& caller, absl::Duration patience);

  const std::string socket_path_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::vector<int>> idle_ ABSL_GUARDED_BY(mutex_);
  size_t idle_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// One request and its reply. Not thread-safe; may be passed from thread to thread.
class Exchange {
 public:
  // Called before a reply of so many bytes is read, to reserve room for it.
  using Reserve = std::function<absl::Status(size_t bytes)>;

  // `suffix` is appended to the message's bytes: for repeated fields the last one wins.
  Exchange(Bridge* bridge, IdentityPtr caller, FrameType type, const grpc::ByteBuffer& body,
           std::string suffix, Reserve reserve)
      : bridge_(bridge),
        caller_(std::move(caller)),
        type_(type),
        body_(body),
        suffix_(std::move(suffix)),
        reserve_(std::move(reserve)) {}
  ~Exchange() { Hangup(); }
  Exchange(const Exchange&) = delete;

  // Sends the request and waits briefly; true if the call has ended. `soon`: it usually has, and
  // waiting costs less; else it may take some milliseconds.
  bool Begin(bool soon);
  // Waits for the call's end. If the caller disconnects or its deadline passes, hangs up: the
  // daemon then cancels the work if no other request waits for it.
  void Finish(absl::Time deadline, const std::function<bool()>& gone);

  // The result; details as in common/wire/error_detail.h.
  const absl::Status& status() const { return status_; }
  grpc::ByteBuffer* reply() { return &reply_; }

 private:
  absl::Status Send();
  bool Readable(absl::Duration patience) const;
  // Waits for the header up to the connection's own limit.
  bool HeaderComes();
  // True if the call has ended, false if it was begun again.
  bool Receive();
  absl::Status ReadReply();
  void Hangup();

  Bridge* const bridge_;
  const IdentityPtr caller_;
  const FrameType type_;
  grpc::ByteBuffer body_;
  const std::string suffix_;
  const Reserve reserve_;
  Bridge::Line line_;
  bool again_ = false;  // this is the second attempt
  char header_[kFrameHeaderSize];
  size_t header_size_ = 0;  // bytes received
  absl::Status status_;
  grpc::ByteBuffer reply_;
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_BRIDGE_H_
