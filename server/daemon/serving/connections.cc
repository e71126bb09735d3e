#include "server/daemon/serving/connections.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

// The time limit for the rest of a request, and for delivering a reply.
constexpr absl::Duration kTransferLimit = absl::Seconds(60);
// The header arrives in one piece, except from a malicious client.
constexpr absl::Duration kHeaderLimit = absl::Seconds(5);
// The time that a disconnected client has to read the reason.
constexpr absl::Duration kLastWordLimit = absl::Seconds(1);
// The number of bytes of a message per read.
constexpr size_t kAtOnce = size_t{64} << 10;
// The limit on event threads. Blocked threads, at most one per connection, come on top.
constexpr int kMostWaiting = 8;

// Asked while a caller waits for a compilation: if it has gone, the job may be cancelled. Not where
// one direction alone has ended: Drain ends reading, and a caller that has sent its last request
// may await the reply.
bool HungUp(int fd) {
  pollfd entry = {fd, 0, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLERR)) != 0;
}

// Names a process of this user; a front's greeting overrides it.
std::string PeerName(int fd) {
  ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "unknown";
  return absl::StrCat("pid ", peer.pid);
}

// Requests that only look at the daemon do not keep it from exiting.
bool IsUse(FrameType type) {
  return type != FrameType::kMetrics && type != FrameType::kRecent && type != FrameType::kStats &&
         type != FrameType::kHello;
}

// The handler of these hands off the event loop itself if it has to block.
bool IsQuick(FrameType type) { return type == FrameType::kLookup || type == FrameType::kCompile; }

// Answered by a worker; quotas bound how many of them run.
bool IsJob(FrameType type) { return type == FrameType::kCompile || type == FrameType::kLink; }

constexpr uint32_t kAllRights =
    proto::RIGHT_READ | proto::RIGHT_COMPILE | proto::RIGHT_WRITE | proto::RIGHT_ADMIN;

absl::Status NoThreads() { return absl::ResourceExhaustedError("kilnd can start no more threads"); }

absl::Status LeaveLoop(LoopThread* thread) {
  return thread->HandOver() ? absl::OkStatus() : NoThreads();
}

// Null `thread`: the caller must not block. Bytes that cannot be sent immediately are lost.
absl::Status Send(int fd, const Reply& reply, absl::Duration limit, LoopThread* thread) {
  char header[kFrameHeaderSize];
  // Header and parts go out in one system call. The entry's bytes are the memory tier's.
  EncodeFrameHeader({reply.type, static_cast<uint32_t>(reply.body.size()), reply.id}, header);
  ReplyBody::Parts parts = {{header, sizeof header}};
  reply.body.AddTo(&parts);
  absl::Span<iovec> left = absl::MakeSpan(parts);
  absl::Status status = WriteParts(fd, absl::InfinitePast(), &left);
  // The socket's buffer is full. Waiting for the client is blocking work.
  if (!absl::IsDeadlineExceeded(status) || thread == nullptr) return status;
  RETURN_IF_ERROR(LeaveLoop(thread));
  return WriteParts(fd, SteadyNow() + limit, &left);
}

}  // namespace

// The thread that handles its event owns its members, except `busy`.
struct Connections::Connection final : Tag {
  Connection(Connections* owner, int fd) : owner(owner), fd(fd) {
    caller.name = PeerName(fd);
    caller.rights = kAllRights;  // it is of our user: CheckPeer
    caller.gone = [this] { return this->owner->aborting() || HungUp(this->fd); };
    caller.leave_loop = [this] { return LeaveLoop(thread); };
  }
  void Happened(bool /*ok*/, LoopThread* now) override { owner->Deal(this, now); }

  Connections* const owner;
  const int fd;
  Caller caller;
  std::shared_ptr<Quotas::Account> replies;  // of the caller
  LoopThread* thread = nullptr;
  std::string unread;  // that has been received
  bool busy = false;   // of `owner`, which has the lock for it
  List::iterator self;
};

Connections::Connections(Handler* handler, Quotas* requests, Quotas* replies, int limit)
    : handler_(handler),
      requests_(requests),
      replies_(replies),
      limit_(limit),
      loop_(&poller_, limit + kMostWaiting) {}

Connections::~Connections() {
  Drain(absl::ZeroDuration());
  poller_.End();
}

void Connections::Serve(int fd) {
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) {
      refused = absl::UnavailableError("kilnd is ending");
    } else if (static_cast<int>(connections_.size()) >= limit_) {
      refused =
          absl::ResourceExhaustedError(absl::StrCat("kilnd already has ", limit_, " connections"));
    } else if (!loop_.Start()) {
      refused = NoThreads();
    } else {
      Connection& connection = connections_.emplace_front(this, fd);
      connection.self = connections_.begin();
      // Under the lock: the first event may arrive at once, and its thread then waits for us in
      // Begin.
      refused = poller_.Add(fd, &connection);
      if (!refused.ok()) connections_.pop_front();
    }
  }
  if (refused.ok()) return;
  Metrics::Get().counter("kiln_refused_total", "connections")->Add();
  Send(fd, Handler::ErrorFrame(0, refused), absl::ZeroDuration(), /*thread=*/nullptr).IgnoreError();
  close(fd);
}

absl::Time Connections::last_request() const {
  absl::MutexLock lock(&mutex_);
  // A long compilation is not idleness.
  return busy_ > 0 ? SteadyNow() : last_request_;
}

void Connections::Drain(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  // Wakes connections that wait for a request. What has arrived stays readable; from here on
  // clients cannot send.
  for (const Connection& connection : connections_) {
    if (!connection.busy) shutdown(connection.fd, SHUT_RD);
  }
  auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return connections_.empty(); };
  // Three stages: requests in progress get `patience`, then the reasons of refusals a second, then
  // all sockets are closed.
  mutex_.AwaitWithTimeout(absl::Condition(&empty), patience);
  aborting_ = true;
  // Wakes threads that wait for the rest of a request, or for a reply to be delivered.
  for (const Connection& connection : connections_) shutdown(connection.fd, SHUT_RD);
  mutex_.AwaitWithTimeout(absl::Condition(&empty), kLastWordLimit);
  for (const Connection& connection : connections_) shutdown(connection.fd, SHUT_RDWR);
  mutex_.Await(absl::Condition(&empty));
}

void Connections::Deal(Connection* connection, LoopThread* thread) {
  while (Begin(connection, thread)) {
    bool used = false;
    const bool more = Exchange(connection, &used);
    // The client sent more than one request at a time. No event will announce bytes that were read.
    const bool unread = more && !connection->unread.empty();
    if (End(connection, used, /*wait=*/more && !unread)) return;
    if (!more) break;
    // A client that pipelines requests must not delay all other clients.
    thread->HandOver();
  }
  Close(connection);
}

bool Connections::Exchange(Connection* connection, bool* used) {
  char buffer[kAtOnce];
  const std::string unread = std::exchange(connection->unread, std::string());
  absl::string_view bytes = unread;
  if (unread.empty()) {
    const ssize_t got = recv(connection->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    bytes = {buffer, static_cast<size_t>(got)};
  }
  Caller* caller = &connection->caller;
  // Once per connection and caller: finding an account takes a lock.
  if (caller->account == nullptr) caller->account = requests_->Of(caller->name);
  Quotas::Hold hold;
  // `hold` counts the request's bytes until this function ends, that is until the reply is sent.
  const absl::StatusOr<Frame> request = Receive(connection, bytes, &hold);
  // After a malformed frame, the beginning of the next one is unknown: the connection ends.
  if (!request.ok()) {
    Send(connection->fd, Handler::ErrorFrame(0, request.status()), kLastWordLimit,
         connection->thread)
        .IgnoreError();
    return false;
  }
  *used = IsUse(request->type);
  const std::string name = caller->name;
  absl::Status status = IsQuick(request->type) ? absl::OkStatus() : LeaveLoop(connection->thread);
  // All other requests are answered without blocking.
  if (status.ok() && IsJob(request->type)) status = caller->account->TakeRun(&hold);
  Reply reply =
      status.ok() ? handler_->Handle(*request, caller) : Handler::Refuse(request->id, status);
  // Drain cancelled it. Clients ask the next daemon after losing this one, but not after an error.
  if (reply.type == FrameType::kError && aborting()) return false;
  Quotas::Hold reply_hold;
  const absl::Status fits = TakeReply(connection, reply.body.size(), &reply_hold);
  // The work is lost, but the caller learns why and can retry when its other replies are read.
  if (!fits.ok()) reply = Handler::Refuse(request->id, fits);
  if (!Send(connection->fd, reply, kTransferLimit, connection->thread).ok()) return false;
  // A front has stated its caller.
  if (caller->name != name) {
    // Held by the account of the front; from here on the named caller's counts.
    hold = Quotas::Hold();
    reply_hold = Quotas::Hold();
    caller->account = nullptr;
    connection->replies = nullptr;
  }
  return true;
}

absl::Status Connections::TakeReply(Connection* connection, size_t bytes, Quotas::Hold* hold) {
  if (bytes > kMaxFrameBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a reply of ", bytes, " bytes; at most ", kMaxFrameBytes, " fit"));
  }
  const Caller& caller = connection->caller;
  std::shared_ptr<Quotas::Account>& account = connection->replies;
  if (account == nullptr) account = replies_->Of(caller.name);
  if (account->TryBytes(bytes, hold)) return absl::OkStatus();
  RETURN_IF_ERROR(LeaveLoop(connection->thread));
  return account->TakeBytes(bytes, SteadyNow() + kTransferLimit, caller.gone, hold);
}

absl::StatusOr<Frame> Connections::Receive(Connection* connection, absl::string_view bytes,
                                           Quotas::Hold* hold) {
  const absl::Time begin = SteadyNow();
  std::string header_bytes;
  if (bytes.size() < kFrameHeaderSize) {
    RETURN_IF_ERROR(LeaveLoop(connection->thread));
    header_bytes = std::string(bytes);
    const absl::Status read =
        ReadOn(connection->fd, kFrameHeaderSize, begin + kHeaderLimit, &header_bytes);
    if (absl::IsDeadlineExceeded(read)) {
      return absl::DeadlineExceededError("a message was begun but not completed in time");
    }
    RETURN_IF_ERROR(read);
    bytes = header_bytes;
  }
  ASSIGN_OR_RETURN(const FrameHeader header, DecodeFrameHeader(bytes));
  bytes.remove_prefix(kFrameHeaderSize);
  const bool whole = bytes.size() >= header.length;
  Caller& caller = connection->caller;
  const absl::Time deadline = begin + kTransferLimit;
  if (!whole) RETURN_IF_ERROR(LeaveLoop(connection->thread));
  // The header states the size, so quotas apply before memory is allocated.
  if (!caller.account->TryBytes(header.length, hold)) {
    RETURN_IF_ERROR(LeaveLoop(connection->thread));
    RETURN_IF_ERROR(caller.account->TakeBytes(header.length, deadline, caller.gone, hold));
  }
  Frame frame{header.type, header.id, std::string(bytes.substr(0, header.length))};
  if (whole) {
    connection->unread = std::string(bytes.substr(header.length));
  } else {
    RETURN_IF_ERROR(ReadOn(connection->fd, header.length, deadline, &frame.body));
  }
  return frame;
}

bool Connections::Begin(Connection* connection, LoopThread* thread) {
  absl::MutexLock lock(&mutex_);
  if (aborting_) return false;
  connection->thread = thread;
  connection->busy = true;
  ++busy_;
  return true;
}

bool Connections::End(Connection* connection, bool used, bool wait) {
  absl::MutexLock lock(&mutex_);
  connection->busy = false;
  --busy_;
  // Only requests that use the cache put off the idle exit; `kiln top` must not keep a daemon
  // alive.
  if (used) last_request_ = SteadyNow();
  // Drain found this connection busy. Requests that are here already are still served.
  if (draining_) shutdown(connection->fd, SHUT_RD);
  if (!wait || draining_) return false;
  // Under the lock, last: from here on another thread may handle the next event.
  poller_.Arm(connection->fd, connection);
  return true;
}

void Connections::Close(Connection* connection) {
  // The session's owner may be destroyed once this connection is closed.
  connection->caller.session.reset();
  absl::MutexLock lock(&mutex_);
  close(connection->fd);
  connections_.erase(connection->self);
}

Connections::Load Connections::load() const {
  absl::MutexLock lock(&mutex_);
  return {connections_.size(), static_cast<size_t>(busy_)};
}

bool Connections::aborting() const {
  absl::MutexLock lock(&mutex_);
  return aborting_;
}

}  // namespace kiln
