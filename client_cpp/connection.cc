#include "client_cpp/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"
#include "common/wire/unix_address.h"
#include "common/wire/version.h"

namespace kiln {
namespace {

constexpr absl::Duration kFirstCheck = absl::Milliseconds(100);
constexpr absl::Duration kCheckEvery = absl::Seconds(1);
// The time limit from the first byte of an answer to the last.
constexpr absl::Duration kAnswerLimit = absl::Milliseconds(100);
// A hit takes less than this, and waking a sleeping processor takes as long again.
constexpr std::chrono::microseconds kStayAwake{100};

thread_local InterruptCheck::Check interrupt_check = nullptr;

// A connected descriptor. Non-blocking, since a stopped daemon's backlog can be full.
absl::StatusOr<int> Connect(const std::string& path, absl::Time deadline) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  for (;;) {
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    int error = errno;
    if (error == EINTR) continue;
    // Unix sockets do not queue connects; a full backlog has to be asked again.
    if (error == EAGAIN && SteadyNow() < deadline) {
      usleep(1000);
      continue;
    }
    close(fd);
    if (error == EAGAIN) return absl::DeadlineExceededError("the daemon accepts no connections");
    if (error == ENOENT || error == ECONNREFUSED) {
      return absl::NotFoundError(absl::StrCat("no daemon listens on ", path));
    }
    return absl::ErrnoToStatus(error, absl::StrCat("cannot connect to ", path));
  }
}

// The socket's directory should be ours alone; this detects mistakes there.
absl::Status CheckPeerIsUs(int fd) {
  ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::ErrnoToStatus(errno, "SO_PEERCRED");
  }
  // Before any message: a foreign process must not learn what is compiled here.
  if (peer.uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("the daemon runs as user ", peer.uid));
}

// The file in which the system counts runnable threads.
struct LoadAverage {
  LoadAverage() : fd(open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {}
  ~LoadAverage() {
    if (fd >= 0) close(fd);
  }
  LoadAverage(const LoadAverage&) = delete;
  LoadAverage& operator=(const LoadAverage&) = delete;
  const int fd;
};

// Whether fewer threads are runnable on this machine, this one included, than it has processors.
bool HasIdleProcessor() {
  static FirstUse<unsigned> processors;
  // Opened once for the process: opening costs more than reading.
  static FirstUse<LoadAverage> load;
  // "0.20 0.18 0.12 1/80 11206": the fourth field is the number of runnable threads, of all
  // threads.
  char text[128];
  const ssize_t size = pread(load.Get().fd, text, sizeof text, 0);
  if (size <= 0) return false;
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text, static_cast<size_t>(size)), absl::ByAnyChar(" /"));
  unsigned running;
  return words.size() > 3 && absl::SimpleAtoi(words[3], &running) &&
         running < processors.Get([] { return std::thread::hardware_concurrency(); });
}

// Polls `fd` briefly without sleeping.
bool ReadableSoon(int fd) {
  const auto end = std::chrono::steady_clock::now() + kStayAwake;
  pollfd entry = {fd, POLLIN, 0};
  do {
    if (poll(&entry, 1, 0) > 0) return true;
    // The daemon's thread may need this very processor.
    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

proto::Hello OwnHello() {
  proto::Hello hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_build(kVersion);
  // A range, so that neighbouring versions can agree on one.
  hello.set_oldest_protocol(kOldestProtocolVersion);
  return hello;
}

}  // namespace

// Checks nest, as when a handler itself calls a kernel: the outer one comes back at the end.
InterruptCheck::InterruptCheck(Check check) : outer_(std::exchange(interrupt_check, check)) {}

InterruptCheck::~InterruptCheck() { interrupt_check = outer_; }

Connection::~Connection() { close(fd_); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path,
                                                             absl::Duration patience,
                                                             const proto::Hello& wishes) {
  const absl::Time deadline = SteadyNow() + patience;
  ASSIGN_OR_RETURN(int fd, Connect(path, deadline));
  std::unique_ptr<Connection> connection(new Connection(fd));
  RETURN_IF_ERROR(CheckPeerIsUs(fd));
  RETURN_IF_ERROR(connection->SayHello(deadline, wishes));
  return connection;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Adopt(int fd, absl::Time deadline) {
  std::unique_ptr<Connection> connection(new Connection(fd));
  RETURN_IF_ERROR(connection->SayHello(deadline, proto::Hello()));
  return connection;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Begin(const std::string& path) {
  const absl::Time now = SteadyNow();
  ASSIGN_OR_RETURN(int fd, Connect(path, now));
  std::unique_ptr<Connection> connection(new Connection(fd));
  RETURN_IF_ERROR(CheckPeerIsUs(fd));
  connection->broken_ = true;  // until the greeting has ended
  RETURN_IF_ERROR(
      WriteFrame(fd, FrameType::kHello, connection->next_id_++, OwnHello(), now + kAnswerLimit));
  return connection;
}

absl::StatusOr<bool> Connection::Greeted(absl::Duration wait) {
  pollfd entry = {fd_, POLLIN, 0};
  if (poll(&entry, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) <= 0) return false;
  ASSIGN_OR_RETURN(Frame frame, ReadFrame(fd_, SteadyNow() + kAnswerLimit));
  RETURN_IF_ERROR(ParseReply(frame, FrameType::kHelloReply, &peer_));
  broken_ = false;
  RETURN_IF_ERROR(CheckProtocol());
  return true;
}

absl::Status Connection::SayHello(absl::Time deadline, const proto::Hello& wishes) {
  proto::Hello hello = OwnHello();
  hello.MergeFrom(wishes);
  RETURN_IF_ERROR(Call(FrameType::kHello, hello, FrameType::kHelloReply, &peer_, deadline));
  return CheckProtocol();
}

absl::Status Connection::CheckProtocol() {
  if (peer_.protocol() >= kOldestProtocolVersion && peer_.protocol() <= kProtocolVersion) {
    return absl::OkStatus();
  }
  broken_ = true;
  return absl::FailedPreconditionError(
      absl::StrCat("kilnd ", peer_.build(), " answers in protocol ", peer_.protocol(), ", Kiln ",
                   kVersion, " speaks ", kOldestProtocolVersion, " to ", kProtocolVersion));
}

absl::Status Connection::AwaitReadable(absl::Time deadline,
                                       const std::function<absl::Status()>& check) {
  for (absl::Duration until_check = kFirstCheck;; until_check = kCheckEvery) {
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no reply in time");
    const absl::Duration slice = check != nullptr ? std::min(left, until_check) : left;
    // Rounded up: with 0 the loop would spin in the last millisecond. The bound fits an int.
    const int64_t milliseconds = std::min<int64_t>(absl::ToInt64Milliseconds(slice) + 1, 1 << 30);
    pollfd entry = {fd_, POLLIN, 0};
    int ready = poll(&entry, 1, static_cast<int>(milliseconds));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
    // A signal ended the wait, perhaps Ctrl-C.
    if (ready < 0 && interrupt_check != nullptr) RETURN_IF_ERROR(interrupt_check());
    if (ready == 0 && check != nullptr) RETURN_IF_ERROR(check());
  }
}

absl::StatusOr<CompilerIds> Connection::compiler() const {
  ASSIGN_OR_RETURN(const Digest cpu, Digest::FromBytes(peer_.compiler()));
  // Those that know of no toolkit have one id for all keys.
  if (peer_.cuda_compiler().empty()) return CompilerIds(cpu);
  ASSIGN_OR_RETURN(const Digest cuda, Digest::FromBytes(peer_.cuda_compiler()));
  return CompilerIds(cpu, cuda);
}

absl::Status Connection::Call(FrameType type, const google::protobuf::MessageLite& request,
                              FrameType reply_type, google::protobuf::MessageLite* reply,
                              absl::Time deadline, const std::function<absl::Status()>& check) {
  const uint32_t id = next_id_++;
  broken_ = true;  // until the reply is complete
  sent_ = false;
  // Read before the request is sent: afterwards the daemon's thread is runnable as well.
  const bool stay_awake = HasIdleProcessor();
  RETURN_IF_ERROR(WriteFrame(fd_, type, id, request, deadline));
  sent_ = true;
  if (!stay_awake || !ReadableSoon(fd_)) RETURN_IF_ERROR(AwaitReadable(deadline, check));
  ASSIGN_OR_RETURN(Frame frame, ReadFrame(fd_, deadline));
  // A late reply of a request that was given up: connections are not used again after that, so the
  // daemon is at fault.
  if (frame.id != id) {
    return absl::InternalError(absl::StrCat("reply to request ", frame.id, ", not ", id));
  }
  absl::Status status = ParseReply(frame, reply_type, reply);
  // An error reply is complete; anything unreadable means that the two sides disagree.
  broken_ = !status.ok() && frame.type != FrameType::kError;
  return status;
}

}  // namespace kiln
