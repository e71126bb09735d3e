#include "server/grpc_front/bridge.h"

#include <errno.h>
#include <grpc/slice.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/wire/unix_address.h"
#include "common/wire/version.h"
#include "kiln/proto/service.pb.h"

namespace kiln {
namespace {

// How long a compilation goes on after its caller has left.
constexpr absl::Duration kAskIfGone = absl::Milliseconds(50);
constexpr absl::Duration kHelloPatience = absl::Seconds(5);
constexpr absl::Duration kProbePatience = absl::Seconds(1);
// A compilation that is a hit takes less: worth waiting for on the event thread, as a change of
// threads costs as much.
constexpr absl::Duration kShortly = absl::Microseconds(300);
constexpr absl::Duration kSoon = absl::Milliseconds(2);
constexpr int kTransferSeconds = 60;
constexpr size_t kMaxParts = 64;  // per system call
// Below the daemon's limit of connections, of which programs on this machine need some.
constexpr size_t kMaxIdle = 256;
constexpr size_t kMaxIdleOfCaller = 64;

absl::StatusOr<int> Connect(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  // Gives up on a daemon that stops in the middle of a message.
  const timeval limit = {kTransferSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const timeval soon = absl::ToTimeval(kSoon);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    absl::Status status = absl::UnavailableError(absl::StrCat("no kilnd: ", strerror(errno)));
    close(fd);
    return status;
  }
  return fd;
}

absl::Status Lost() { return absl::UnavailableError("lost the connection to kilnd"); }

// Writes all of `parts`.
absl::Status WriteAll(int fd, std::vector<iovec> parts) {
  iovec* next = parts.data();
  size_t count = parts.size();
  while (count > 0) {
    msghdr message = {};
    message.msg_iov = next;
    message.msg_iovlen = std::min(count, kMaxParts);
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Lost();
    size_t left = static_cast<size_t>(sent);
    while (count > 0 && left >= next->iov_len) {
      left -= next->iov_len;
      ++next, --count;
    }
    if (count > 0) {
      next->iov_base = static_cast<char*>(next->iov_base) + left;
      next->iov_len -= left;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int fd, void* out, size_t size) {
  char* next = static_cast<char*>(out);
  while (size > 0) {
    // The socket's own limit is short (kSoon), so EAGAIN only means that the rest takes longer.
    const ssize_t got = recv(fd, next, size, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      pollfd entry = {fd, POLLIN, 0};
      if (poll(&entry, 1, kTransferSeconds * 1000) > 0) continue;
    }
    if (got <= 0) return Lost();
    next += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace

Bridge::~Bridge() {
  for (const auto& [caller, fds] : idle_) {
    for (const int fd : fds) close(fd);
  }
}

absl::StatusOr<Bridge::Line> Bridge::Take(const Identity& caller, bool fresh) {
  if (!fresh) {
    absl::MutexLock lock(&mutex_);
    const auto found = idle_.find(caller.key);
    if (found != idle_.end()) {
      // The newest: kilnd may have closed the oldest ones.
      const Line line{found->second.back()};
      found->second.pop_back();
      --idle_count_;
      if (found->second.empty()) idle_.erase(found);
      return line;
    }
  }
  // A connection belongs to one caller: the greeting names it, and rights and tenant follow from
  // it.
  ASSIGN_OR_RETURN(const int fd, Greet(caller.caller, kHelloPatience));
  return Line{fd};
}

void Bridge::GiveBack(const Identity& caller, Line line) {
  {
    absl::MutexLock lock(&mutex_);
    std::vector<int>& idle = idle_[caller.key];
    // One caller's burst must not take the room of all others.
    if (idle.size() < kMaxIdleOfCaller && idle_count_ < kMaxIdle) {
      idle.push_back(line.fd);
      ++idle_count_;
      return;
    }
    if (idle.empty()) idle_.erase(caller.key);
  }
  close(line.fd);
}

bool Bridge::HasIdle(const Identity& caller) {
  absl::MutexLock lock(&mutex_);
  return idle_.contains(caller.key);
}

bool Bridge::Answers() {
  // A whole greeting: a daemon that is stopped still accepts connections.
  const absl::StatusOr<int> fd = Greet(proto::Caller(), kProbePatience);
  if (fd.ok()) close(*fd);
  return fd.ok();
}

absl::StatusOr<int> Bridge::Greet(const proto::Caller& caller, absl::Duration patience) {
  ASSIGN_OR_RETURN(const int fd, Connect(socket_path_));
  proto::Hello hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_oldest_protocol(kOldestProtocolVersion);
  hello.set_build(kVersion);
  *hello.mutable_caller() = caller;
  const absl::Time deadline = SteadyNow() + patience;
  proto::HelloReply reply;
  absl::Status status = WriteFrame(fd, FrameType::kHello, 1, hello, deadline);
  // A daemon that refuses us states the reason even if it reads nothing.
  absl::StatusOr<Frame> frame = ReadFrame(fd, deadline);
  if (frame.ok()) {
    status = ParseReply(*frame, FrameType::kHelloReply, &reply);
  } else if (status.ok()) {
    status = Lost();
  }
  if (status.ok()) return fd;
  close(fd);
  return status;
}

bool Exchange::Begin(bool soon) {
  status_ = Send();
  if (!status_.ok()) return true;
  // Answers that come at once are read on the event thread. For others it would block all calls.
  return (soon ? HeaderComes() : Readable(kShortly)) && Receive();
}

void Exchange::Finish(absl::Time deadline, const std::function<bool()>& gone) {
  while (true) {
    if (Readable(kAskIfGone)) {
      if (Receive()) return;
    } else if (gone()) {
      // Closing the connection (Hangup) tells kilnd, which then cancels the job.
      status_ = absl::CancelledError("the caller disconnected");
      break;
    } else if (SteadyNow() > deadline) {
      status_ = absl::DeadlineExceededError("the call's deadline passed");
      break;
    }
  }
  Hangup();
}

absl::Status Exchange::Send() {
  std::vector<grpc::Slice> slices;
  const grpc::Status dumped = body_.Dump(&slices);
  if (!dumped.ok()) return absl::InternalError(dumped.error_message());
  char header[kFrameHeaderSize];
  const uint32_t size = static_cast<uint32_t>(body_.Length() + suffix_.size());
  // The id is always 1: a connection has one request at a time.
  EncodeFrameHeader({type_, size, 1}, header);
  std::vector<iovec> parts = {{header, sizeof header}};
  for (const grpc::Slice& slice : slices) {
    // Sends gRPC's own memory: the front does not copy or parse requests.
    if (slice.size() > 0) parts.push_back({const_cast<uint8_t*>(slice.begin()), slice.size()});
  }
  if (!suffix_.empty()) parts.push_back({const_cast<char*>(suffix_.data()), suffix_.size()});
  while (true) {
    const absl::StatusOr<Bridge::Line> line = bridge_->Take(*caller_, again_);
    if (line.ok()) line_ = *line;
    const absl::Status sent = line.ok() ? WriteAll(line_.fd, parts) : line.status();
    // An idle connection may have died since it was given back. The second attempt takes a fresh
    // one.
    if (sent.ok() || again_ || !absl::IsUnavailable(sent)) return sent;
    Hangup();
    again_ = true;
  }
}

bool Exchange::Readable(absl::Duration patience) const {
  pollfd entry = {line_.fd, POLLIN, 0};
  timespec limit = absl::ToTimespec(patience);
  return ppoll(&entry, 1, &limit, nullptr) > 0;
}

// A socket's own time limit is a coarse kernel timer. poll uses a precise one, whose cost on a
// virtual machine equals everything else here.
bool Exchange::HeaderComes() {
  const ssize_t got = recv(line_.fd, header_, sizeof header_, MSG_WAITALL);
  if (got > 0) header_size_ = static_cast<size_t>(got);
  return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

bool Exchange::Receive() {
  status_ = ReadReply();
  // An exiting daemon closes idle connections, even those that it has just greeted. Retries once,
  // with its successor; a repeated request is harmless.
  if (line_.fd >= 0 && absl::IsUnavailable(status_) && !again_) {
    Hangup();
    again_ = true;
    status_ = Send();
    return !status_.ok();
  }
  Hangup();
  return true;
}

// Leaves `line_` open if the reply was not read completely.
absl::Status Exchange::ReadReply() {
  const size_t come = std::exchange(header_size_, 0);
  RETURN_IF_ERROR(ReadAll(line_.fd, header_ + come, sizeof header_ - come));
  ASSIGN_OR_RETURN(const FrameHeader header, DecodeFrameHeader({header_, sizeof header_}));
  // Before the memory is allocated: undelivered replies are bounded.
  RETURN_IF_ERROR(reserve_(header.length));
  grpc_slice slice = grpc_slice_malloc(header.length);
  const grpc::Slice body(slice, grpc::Slice::STEAL_REF);
  RETURN_IF_ERROR(
      ReadAll(line_.fd, const_cast<uint8_t*>(body.begin()), static_cast<size_t>(header.length)));
  // The reply was read completely, so the connection is ready for another request of this caller.
  bridge_->GiveBack(*caller_, std::exchange(line_, Bridge::Line()));
  if (static_cast<uint32_t>(header.type) == static_cast<uint32_t>(type_) + 1) {
    reply_ = grpc::ByteBuffer(&body, 1);
    return absl::OkStatus();
  }
  proto::HelloReply none;
  absl::Status status = ParseReply(Frame{header.type, header.id, {body.begin(), body.end()}},
                                   FrameType::kError, &none);
  return status.ok() ? absl::InternalError("kilnd answered another request") : status;
}

void Exchange::Hangup() {
  if (line_.fd >= 0) close(line_.fd);
  line_ = Bridge::Line();
}

}  // namespace kiln
