#include "server/daemon/connections.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/clock.h"
#include "lang/framing.h"
#include "server/daemon/log.h"
#include "server/daemon/metrics.h"

namespace kiln {
namespace {

// A request once begun arrives, and a reply is taken, within this.
constexpr absl::Duration kTransferLimit = absl::Seconds(60);
// Its header comes in one piece, but from a client that is up to something.
constexpr absl::Duration kHeaderLimit = absl::Seconds(5);
constexpr size_t kStackBytes = size_t{512} << 10;

// The next request may be long in coming; false when none will.
bool AwaitRequest(int fd) {
  pollfd entry = {fd, POLLIN, 0};
  while (poll(&entry, 1, -1) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

bool HungUp(int fd) {
  pollfd entry = {fd, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// How long the message is that begins to arrive; without taking it from the stream, so
// that ReadFrame says what is wrong with it. DeadlineExceeded: it does not go on.
absl::StatusOr<uint64_t> AwaitLength(int fd) {
  const absl::Time deadline = SteadyNow() + kHeaderLimit;
  char header[kFrameHeaderSize];
  while (true) {
    const ssize_t got = recv(fd, header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(sizeof header)) break;
    if (got <= 0 && errno != EAGAIN && errno != EINTR) return 0;  // an end: ReadFrame's
    if (HungUp(fd)) return 0;
    if (SteadyNow() >= deadline) {
      return absl::DeadlineExceededError("a message was begun and not gone on with");
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
  const auto decoded = DecodeFrameHeader({header, sizeof header});
  return decoded.ok() ? decoded->length : 0;
}

// A process of this user; what a front says in its greeting comes instead.
std::string PeerName(int fd) {
  ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "unknown";
  return absl::StrCat("pid ", peer.pid);
}

// Looking on is no use of the daemon: it ends when idle all the same.
bool IsUse(FrameType type) {
  return type != FrameType::kMetrics && type != FrameType::kRecent && type != FrameType::kStats &&
         type != FrameType::kHello;
}

constexpr uint32_t kAllRights =
    proto::RIGHT_READ | proto::RIGHT_COMPILE | proto::RIGHT_WRITE | proto::RIGHT_ADMIN;

void Send(int fd, const Frame& frame, absl::Duration limit) {
  WriteFrame(fd, frame.type, frame.id, frame.body, SteadyNow() + limit).IgnoreError();
}

}  // namespace

void Connections::Serve(int fd) {
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) {
      refused = absl::UnavailableError("kilnd is ending");
    } else if (static_cast<int>(connections_.size()) >= limit_) {
      refused =
          absl::ResourceExhaustedError(absl::StrCat("kilnd already has ", limit_, " connections"));
    } else {
      connections_.push_front(Connection{this, fd});
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, kStackBytes);
      pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
      pthread_t thread;
      auto* self = new List::iterator(connections_.begin());  // the thread's
      if (pthread_create(&thread, &attributes, Thread, self) != 0) {
        delete self;
        connections_.pop_front();
        refused = absl::ResourceExhaustedError("kilnd can start no more threads");
      }
      pthread_attr_destroy(&attributes);
    }
  }
  if (refused.ok()) return;
  Metrics::Get().counter("kiln_refused_total", "connections")->Add();
  Send(fd, Handler::ErrorFrame(0, refused), absl::ZeroDuration());
  close(fd);
}

absl::Time Connections::last_request() const {
  absl::MutexLock lock(&mutex_);
  return busy_ > 0 ? SteadyNow() : last_request_;
}

void Connections::Drain(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  // Idle threads wait for a request: this ends their wait.
  for (const Connection& connection : connections_) {
    if (!connection.busy) shutdown(connection.fd, SHUT_RD);
  }
  auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return connections_.empty(); };
  mutex_.AwaitWithTimeout(absl::Condition(&empty), patience);
  aborting_ = true;
  mutex_.Await(absl::Condition(&empty));
}

void* Connections::Thread(void* argument) {
  std::unique_ptr<List::iterator> self(static_cast<List::iterator*>(argument));
  (*self)->owner->Talk(*self);
  return nullptr;
}

void Connections::Talk(List::iterator self) {
  const int fd = self->fd;
  Caller caller;
  caller.name = PeerName(fd);
  caller.rights = kAllRights;  // it is of our user: CheckPeer
  caller.gone = [this, fd] { return aborting() || HungUp(fd); };
  while (AwaitRequest(fd) && Begin(self)) {
    bool used = false;
    const bool more = Exchange(fd, &caller, &used);
    if (!End(self, used) || !more) break;
  }
  // What it belongs to may be gone once this connection is.
  caller.seat.reset();
  absl::MutexLock lock(&mutex_);
  close(fd);
  connections_.erase(self);
}

bool Connections::Exchange(int fd, Caller* caller, bool* used) {
  if (caller->account == nullptr) caller->account = quotas_->Of(caller->name);
  Quotas::Hold hold;
  const absl::Time deadline = SteadyNow() + kTransferLimit;
  absl::StatusOr<uint64_t> length = AwaitLength(fd);
  absl::Status status = length.status();
  if (status.ok()) status = caller->account->TakeBytes(*length, deadline, caller->gone, &hold);
  absl::StatusOr<Frame> request = status.ok() ? ReadFrame(fd, deadline) : status;
  if (!request.ok()) {
    if (!absl::IsUnavailable(request.status())) {
      Send(fd, Handler::ErrorFrame(0, request.status()), absl::Seconds(1));
    }
    return false;
  }
  *used = IsUse(request->type);
  const uint32_t id = request->id;
  const std::string name = caller->name;
  // All others are answered at once.
  if (request->type == FrameType::kCompile) status = caller->account->TakeRun(&hold);
  const Frame reply =
      status.ok() ? handler_->Handle(*request, caller) : Handler::Refuse(id, status);
  Send(fd, reply, kTransferLimit);
  // A front has said for whom it speaks.
  if (caller->name != name) {
    hold = Quotas::Hold();
    caller->account = nullptr;
  }
  return true;
}

bool Connections::Begin(List::iterator self) {
  absl::MutexLock lock(&mutex_);
  if (draining_) return false;
  self->busy = true;
  ++busy_;
  return true;
}

bool Connections::End(List::iterator self, bool used) {
  absl::MutexLock lock(&mutex_);
  self->busy = false;
  --busy_;
  if (used) last_request_ = SteadyNow();
  return !draining_;
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
